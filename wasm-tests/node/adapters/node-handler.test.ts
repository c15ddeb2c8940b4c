import { once } from 'node:events';
import {
  Agent,
  type IncomingMessage,
  type RequestListener,
  request,
  type ServerResponse,
} from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { toNodeHandler as sdkNodeHandler } from '@modelcontextprotocol/node';
import type { ListenHandler } from 'mcp-listen';
import { toNodeHandler, type WebHandler } from 'mcp-listen/node';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { served } from '../../host/http-server.ts';
import {
  acknowledged,
  LISTEN_HEADERS,
  listChanged,
  listen,
  listenBody,
} from '../../host/listen.ts';
import { serveOnNode } from '../../host/node-http.ts';
import { echo } from '../../host/servers/behind.ts';
import { serving, TOOLS } from '../serving.ts';
import { asking, readLate } from './slow-client.ts';

// A busy machine is no failure.
vi.setConfig({ testTimeout: 30_000 });

const EVIL = 'http://evil.example';
const BIG_ID = '12345678901234567890';

describe('a listen stream under node:http', () => {
  test('is acknowledged, receives a change, and ends with its result', async () => {
    const server = serving();
    const stream = await listen(`${await served(toNodeHandler(server))}/mcp`, TOOLS, {
      id: BIG_ID,
    });
    expect(await stream.message()).toBe(acknowledged(BIG_ID, TOOLS));
    await server.notify.toolsChanged();
    expect(await stream.message()).toBe(listChanged(BIG_ID, 'tools'));
    await server.close();
    expect(await stream.message()).toContain('"resultType":"complete"');
    expect(await stream.message()).toBeUndefined();
  });

  test('is flushed once its client has read it, without delaying close', async () => {
    const server = serving({ limits: { maxRequestBodySize: 1_000_000 } });
    const handler = toNodeHandler(server);
    const uris = Array.from({ length: 256 }, (_, place) => `note://${place}/${'x'.repeat(1_900)}`);
    const body = listenBody({ resourceSubscriptions: uris });
    const origin = await served(handler);
    const client = await asking(origin, body);
    await expect.poll(() => server.stats().open).toBe(1);
    for (const uri of uris) await server.notify.resourceUpdated(uri);
    await server.close();
    expect(server.stats()).toMatchObject({ open: 0, ended: { closed: 1 } });
    const flushed = handler.flushed(30_000);
    const all = await text(client.resume());
    expect(all.match(/notifications\/resources\/updated/g)).toHaveLength(256);
    expect(all).toContain('"resultType":"complete"');
    expect(await flushed).toBe(true);
  });

  test('is not flushed in time where its client does not read', async () => {
    const handler = toNodeHandler(
      streaming((controller) => controller.enqueue(new Uint8Array(CHUNK))),
    );
    expect(await handler.flushed(0)).toBe(true);
    const client = await asking(await served(handler), '{}');
    await expect.poll(() => handler.flushed(0)).toBe(false);
    expect(await handler.flushed(10)).toBe(false);
    client.destroy();
    expect(await handler.flushed(30_000)).toBe(true);
  });

  test('ends when its client leaves', async () => {
    const server = serving();
    const stream = await listen(`${await served(toNodeHandler(server))}/mcp`, TOOLS);
    await stream.message();
    stream.drop();
    await expect.poll(() => server.stats().ended.left).toBe(1);
  });

  test.each([
    ['ours', toNodeHandler],
    ["the SDK's", (server: ListenHandler) => sdkNodeHandler(server) as RequestListener],
  ])('collapses its cues while its client reads nothing: %s', async (_, adapter) => {
    const { received, most } = await readLate(adapter);
    expect(received).toBeGreaterThan(0);
    expect(received).toBeLessThan(most / 2);
  });
});

describe('a response under node:http', () => {
  test('is pulled only once the last chunk has left the process', async () => {
    let pulled = 0;
    let response: ServerResponse | undefined;
    const handler = toNodeHandler(
      streaming((controller) => {
        pulled += 1;
        controller.enqueue(new Uint8Array(CHUNK));
        if (pulled === CHUNKS) controller.close();
      }),
    );
    const origin = await served((incoming, outgoing) => {
      response = outgoing;
      void handler(incoming, outgoing);
    });
    const client = await asking(origin, '{}');
    await settled(() => pulled);
    expect(pulled).toBeLessThan(CHUNKS);
    expect(response?.socket?.writableLength).toBeLessThan(2 * CHUNK);
    expect((await text(client.resume())).length).toBeGreaterThan(CHUNK * CHUNKS);
  });

  test('sends its header fields before its body', async () => {
    const cancelled = vi.fn();
    const body = new ReadableStream({ cancel: cancelled });
    const origin = await served(
      toNodeHandler({ fetch: () => new Response(body, { headers: { 'x-own': 'yes' } }) }),
    );
    const abort = new AbortController();
    const response = await fetch(origin, { signal: abort.signal });
    expect(response.headers.get('x-own')).toBe('yes');
    abort.abort();
    await expect.poll(() => cancelled.mock.calls.length).toBe(1);
  });

  test('keeps each of its cookies', async () => {
    const headers = new Headers([
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
    ]);
    const response = await fetch(
      await served(toNodeHandler({ fetch: () => new Response(null, { headers }) })),
    );
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
  });

  test('that fails is a 500 before it begins, and is cut off afterwards', async () => {
    const onError = vi.fn();
    const problem = new Error('problem');
    const throwing = { fetch: () => Promise.reject(problem) };
    expect((await fetch(await served(toNodeHandler(throwing, { onError })))).status).toBe(500);
    const breaking = streaming((controller) => controller.error(problem));
    const response = await fetch(await served(toNodeHandler(breaking, { onError })));
    await expect(response.text()).rejects.toThrow();
    expect(onError.mock.calls).toEqual([[problem], [problem]]);
  });
});

describe('the body of a request under node:http', () => {
  test('arrives byte for byte, with its header fields and its URL', async () => {
    const bytes = Uint8Array.of(0xef, 0xbb, 0xbf, 0xff, 0x00);
    const origin = await served(
      toNodeHandler({
        fetch: async (request) =>
          Response.json({ url: request.url, ...((await (await echo(request)).json()) as object) }),
      }),
    );
    const response = await fetch(`${origin}/mcp?a=1`, {
      method: 'POST',
      headers: { 'x-own': 'yes' },
      body: bytes,
    });
    expect(await response.json()).toMatchObject({
      url: `${origin}/mcp?a=1`,
      headers: { 'x-own': 'yes' },
      base64: Buffer.from(bytes).toString('base64'),
    });
  });

  test.each<[what: string, headers: Record<string, string>, body: string, status: number]>([
    ['the limit', {}, 'x'.repeat(2_000_000), 413],
    ['what is read', { accept: 'text/html' }, listenBody(TOOLS), 406],
    ['what is read, and that is large,', { origin: EVIL }, 'x'.repeat(2_000_000), 403],
  ])('that is refused beyond %s leaves its connection usable', async (_, headers, body, status) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const origin = await served(toNodeHandler(serving()));
    const first = await post(origin, agent, { ...LISTEN_HEADERS, ...headers }, body);
    expect(first.status).toBe(status);
    const second = await post(origin, agent, { 'content-type': 'text/plain' }, 'hello');
    expect(second).toEqual({ status: 418, text: 'from the handler', port: first.port });
    agent.destroy();
  });

  test.each([
    ['at once', 0],
    ['after other code', 1],
  ])(
    'that Readable.toWeb reads and that is refused %s leaves its connection usable',
    async (_, awaits) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const server = serving();
      const { origin, stop } = await serveOnNode(async (request) => {
        for (let turn = 0; turn < awaits; turn += 1) await Promise.resolve();
        return server.fetch(request);
      });
      onTestFinished(stop);
      const first = await post(origin, agent, { origin: EVIL }, 'hello');
      expect(first.status).toBe(403);
      const second = await post(origin, agent, { 'content-type': 'text/plain' }, 'hello');
      expect(second).toEqual({ status: 418, text: 'from the handler', port: first.port });
      agent.destroy();
    },
  );

  test('that the handler reads in part leaves its connection usable', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const reading = async ({ body }: Request) => {
      await body?.getReader().read();
      return new Response('enough');
    };
    const origin = await served(toNodeHandler({ fetch: reading }));
    const first = await post(origin, agent, {}, 'x'.repeat(2_000_000));
    expect(first).toMatchObject({ status: 200, text: 'enough' });
    expect(await post(origin, agent, {}, 'hello')).toEqual(first);
    agent.destroy();
  });
});

describe('a request under node:http', () => {
  test('is aborted when its client leaves before the response', async () => {
    let signal: AbortSignal | undefined;
    const handler = toNodeHandler({
      fetch: (request) => {
        signal = request.signal;
        return new Promise(() => {});
      },
    });
    const abort = new AbortController();
    const asked = fetch(await served(handler), { signal: abort.signal });
    await expect.poll(() => signal?.aborted).toBe(false);
    abort.abort();
    await expect(asked).rejects.toThrow();
    await expect.poll(() => signal?.aborted).toBe(true);
  });

  test.each(['http://elsewhere.example/mcp', '*', '//elsewhere.example'])(
    'for %s is refused',
    async (target) => {
      const fetched = vi.fn(() => new Response('served'));
      const origin = await served(toNodeHandler({ fetch: fetched }));
      const socket = connect(Number(new URL(origin).port), '127.0.0.1');
      socket.write(`OPTIONS ${target} HTTP/1.1\r\nhost: here.example\r\nconnection: close\r\n\r\n`);
      const received = await text(socket);
      expect(received).toContain('400 Bad Request');
      expect(fetched).not.toHaveBeenCalled();
    },
  );

  test('with TRACE is refused without an error', async () => {
    const fetched = vi.fn(() => new Response('served'));
    const onError = vi.fn();
    const asked = request(await served(toNodeHandler({ fetch: fetched }, { onError })), {
      method: 'TRACE',
    });
    const [response] = (await once(asked.end(), 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(405);
    expect(response.headers.allow).toBe('GET, POST, DELETE');
    response.resume();
    expect([fetched.mock.calls, onError.mock.calls]).toEqual([[], []]);
  });

  test('with CONNECT, which some hosts pass on, is refused without an error', async () => {
    const onError = vi.fn();
    const handler = toNodeHandler({ fetch: () => new Response('served') }, { onError });
    const origin = await served(
      (incoming, outgoing) =>
        void handler(Object.assign(incoming, { method: 'CONNECT' }), outgoing),
    );
    expect((await fetch(origin)).status).toBe(405);
    expect(onError).not.toHaveBeenCalled();
  });

  test('carries the authInfo that a middleware has set', async () => {
    const fetched = vi.fn(() => new Response());
    const handler = toNodeHandler({ fetch: fetched });
    await fetch(
      await served(
        (incoming, outgoing) =>
          void handler(Object.assign(incoming, { auth: { clientId: 'a' } }), outgoing),
      ),
    );
    expect(fetched).toHaveBeenCalledWith(expect.anything(), { authInfo: { clientId: 'a' } });
  });
});

const CHUNK = 65_536;
const CHUNKS = 1_000;

function streaming(
  pull: (controller: ReadableStreamDefaultController<Uint8Array>) => void,
): WebHandler {
  return { fetch: () => new Response(new ReadableStream({ pull }, { highWaterMark: 0 })) };
}

/** Resolves once `count` has stopped rising. */
async function settled(count: () => number): Promise<void> {
  for (let before = 0, same = 0; same < 10; before = count()) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    same = count() > 0 && count() === before ? same + 1 : 0;
  }
}

async function post(origin: string, agent: Agent, headers: Record<string, string>, body: string) {
  const asked = request(origin, {
    method: 'POST',
    agent,
    headers: { ...headers, 'content-length': body.length },
  });
  asked.end(body);
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  const port = response.socket.localPort;
  return { status: response.statusCode, text: await text(response), port };
}
