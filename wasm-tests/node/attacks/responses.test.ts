import { createMcpHandler } from '@modelcontextprotocol/server';
import { createListenHandler, type ListenHandlerOptions } from 'mcp-listen';
import { describe, expect, test } from 'vitest';
import { bodyUntil } from '../../../dist/handler/upstream-response.js';
import { initialize, post } from '../../host/legacy.ts';
import { listenRequest, TOOLS } from '../serving.ts';
import { sdkServer, sendTo } from '../sessions/serving.ts';

/** A server with this handler, and the codes of the errors that it reports. */
function handledBy(
  handler: (request: Request) => Response | Promise<Response>,
  options: ListenHandlerOptions = {},
) {
  const codes: unknown[] = [];
  const onError = (error: Error) => codes.push((error as { code?: unknown }).code);
  const bounds = { limits: { responseBytes: 1_000 }, timeouts: { responseMs: 50 } };
  return { codes, server: createListenHandler(handler, { onError, ...bounds, ...options }) };
}

/** A body that begins and never ends; calls `onCancel` when it is cancelled. */
function endless(onCancel: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{"jsonrpc":')),
    cancel: onCancel,
  });
}

describe.each([
  ['too long', () => '{'.repeat(2_000), 'upstream-too-large', 502],
  ['endless', endless, 'upstream-timeout', 504],
])('a response of the handler that is %s', (_name, bodyOf, code, status) => {
  test('to server/discover refuses the listen, and is cancelled', async () => {
    const cancelled = Promise.withResolvers<void>();
    const { codes, server } = handledBy(() => new Response(bodyOf(cancelled.resolve)));
    expect((await server.fetch(listenRequest(TOOLS))).status).toBe(503);
    expect(codes).toEqual([code]);
    if (bodyOf === endless) await cancelled.promise;
  });

  test.each(['all', 'declared'] as const)(
    'to initialize begins no session, with advertise: %s',
    async (advertise) => {
      const options = { legacy: 'sessions' as const, advertise };
      const { codes, server } = handledBy(() => new Response(bodyOf(() => {})), options);
      const response = await post(sendTo(server), initialize('2025-11-25'));
      expect([response.status, response.headers.get('mcp-session-id')]).toEqual([status, null]);
      expect(codes).toEqual([code]);
    },
  );
});

/** A response with this text, one character at a time. */
function dribbled(text: string): Response {
  const bytes = new TextEncoder().encode(text);
  let sent = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (sent === bytes.length) controller.close();
        else controller.enqueue(bytes.slice(sent, ++sent));
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body);
}

describe('a response in chunks of one byte', () => {
  test('is found in as soon as it is there', async () => {
    const text = `data: ${'a'.repeat(500)}\n\n`;
    const limits = { responseBytes: 1_000_000, responseMs: 0 };
    const find = (bytes: Uint8Array) => (bytes.byteLength === text.length ? 'found' : undefined);
    const { bytes, found } = await bodyUntil(dribbled(`${text}more`), limits, find);
    expect([found, new TextDecoder().decode(bytes)]).toEqual(['found', text]);
  });

  test('is not read again and again, however long it is', async () => {
    const limits = { responseBytes: 50_000, responseMs: 0 };
    let read = 0;
    const find = (bytes: Uint8Array) => {
      read += bytes.byteLength;
      return undefined;
    };
    const { bytes } = await bodyUntil(dribbled('a'.repeat(50_000)), limits, find);
    expect(bytes.byteLength).toBe(50_000);
    expect(read).toBeLessThan(20 * 50_000);
    const tooLong = bodyUntil(dribbled('a'.repeat(50_001)), limits, find);
    await expect(tooLong).rejects.toMatchObject({ code: 'upstream-too-large' });
  });
});

test('server/discover carries the credentials of the listen, and no other header of the caller', async () => {
  const seen: string[][] = [];
  const handler = createMcpHandler(() => sdkServer());
  const { server } = handledBy(
    (request) => {
      seen.push([...request.headers.keys()].sort());
      return handler.fetch(request);
    },
    { credentialHeaders: ['X-API-Key'], limits: {}, timeouts: {} },
  );
  const headers = {
    authorization: 'Bearer t',
    cookie: 'a=b',
    'x-api-key': 'k',
    'x-pad': 'p',
    'x-http-method': 'PUT',
  };
  expect((await server.fetch(listenRequest(TOOLS, { headers }))).status).toBe(200);
  const ours = ['accept', 'content-type', 'mcp-method', 'mcp-protocol-version'];
  expect(seen).toEqual([['authorization', 'cookie', 'x-api-key', ...ours].sort()]);
});

test('callers that differ in a credential header share no cached capabilities', async () => {
  let asked = 0;
  const result = {
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: {},
    ttlMs: 60_000,
  };
  const { server } = handledBy(
    () => {
      asked += 1;
      return Response.json({ jsonrpc: '2.0', id: 'mcp-listen:discover', result });
    },
    { credentialHeaders: ['X-API-Key'] },
  );
  for (const key of ['ann', 'ann', 'ben'])
    await server.fetch(listenRequest(TOOLS, { headers: { 'x-api-key': key } }));
  expect(asked).toBe(2);
});

test.each([[['x y']], [['']], ['x-api-key']])(
  'credential header fields %j are refused',
  (credentialHeaders) => {
    expect(() =>
      handledBy(() => new Response(), { credentialHeaders: credentialHeaders as string[] }),
    ).toThrow(expect.objectContaining({ code: 'invalid-options' }));
  },
);
