import { once } from 'node:events';
import { createServer } from 'node:http';
import { InMemoryBus, type ListenHandlerOptions, type Principal } from 'mcp-listen';
import { toNodeHandler } from 'mcp-listen/node';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { LISTEN_HEADERS, listenBody } from '../../host/listen.ts';
import { portOf } from '../../host/port.ts';
import { Drip } from '../../host/wire/drip.ts';
import { serving, TOOLS, URL } from '../serving.ts';

const { 'mcp-method': _, ...UNNAMED } = LISTEN_HEADERS;
const SESSION = { ...UNNAMED, 'mcp-protocol-version': '2025-11-25', 'mcp-session-id': 'made-up' };

/** A body that gives `chunks`, one each time that somebody reads, and then nothing more. */
function dripping(...chunks: string[]) {
  const encoder = new TextEncoder();
  const seen = { read: 0, cancelled: vi.fn() };
  const pull = (
    controller: ReadableStreamDefaultController<Uint8Array>,
  ): Promise<void> | undefined => {
    const chunk = chunks[seen.read];
    seen.read += 1;
    if (chunk === undefined) return new Promise(() => {});
    controller.enqueue(encoder.encode(chunk));
    return undefined;
  };
  const body = new ReadableStream({ pull, cancel: seen.cancelled }, { highWaterMark: 0 });
  return { body, seen };
}

function post(body: BodyInit, headers: Record<string, string> = LISTEN_HEADERS): Request {
  return new Request(URL, { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
}

async function served(options: ListenHandlerOptions): Promise<string> {
  const server = createServer(toNodeHandler(serving(options)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${portOf(server)}/mcp`;
}

describe('a listen by its header fields', () => {
  test('whose body drips has its caller named at once', { timeout: 3_000 }, async () => {
    const asked = Promise.withResolvers<void>();
    const principal = vi.fn<Principal>(() => void asked.resolve());
    const drip = await Drip.begin(await served({ principal }), LISTEN_HEADERS);
    await asked.promise;
    drip.drop();
    expect(principal).toHaveBeenCalledOnce();
  });

  test('whose caller is denied has not a byte of its body read', async () => {
    const { body, seen } = dripping('{"jsonrpc"');
    const response = await serving({ principal: () => ({ denied: 401 }) }).fetch(post(body));
    expect(response.status).toBe(401);
    expect(seen.read).toBe(0);
  });

  test.each([
    ['content-type', 'text/plain', 415],
    ['accept', 'text/html', 406],
    ['content-length', '65537', 413],
  ])(
    'that HTTP refuses for its %s has neither its caller named nor its body read',
    async (name, value, status) => {
      const principal = vi.fn<Principal>();
      const { body, seen } = dripping('{"jsonrpc"');
      const response = await serving({ principal }).fetch(
        post(body, { ...LISTEN_HEADERS, [name]: value }),
      );
      expect(response.status).toBe(status);
      expect([principal.mock.calls.length, seen.read]).toEqual([0, 0]);
    },
  );

  test('is asked about once, and refused as too large once its body shows that', async () => {
    const principal = vi.fn<Principal>(() => 'ann');
    const server = serving({ principal });
    const { body, seen } = dripping(...Array.from({ length: 9 }, () => ' '.repeat(8_192)), 'x');
    const response = await server.fetch(post(body));
    expect([response.status, principal.mock.calls.length, seen.read]).toEqual([413, 1, 9]);
    expect(seen.cancelled).toHaveBeenCalledOnce();
    const opened = await server.fetch(post(listenBody(TOOLS)));
    expect([opened.status, principal.mock.calls.length]).toEqual([200, 2]);
    await opened.body?.cancel();
  });
});

describe('a body that stalls', () => {
  test.each([
    ['of a listen by its header fields', LISTEN_HEADERS],
    ['of what only its body can show to be a listen', UNNAMED],
    ['of a request in a session', SESSION],
  ])('%s is given up at its deadline', async (_name, headers) => {
    const bus = new InMemoryBus();
    const server = serving({
      bus,
      principal: () => 'ann',
      legacy: 'sessions',
      timeouts: { bodyMs: 50 },
    });
    const { body, seen } = dripping('{"jsonrpc"');
    const response = await server.fetch(post(body, headers));
    expect(response.status).toBe(408);
    expect(await response.json()).toMatchObject({ error: { code: -32_600 } });
    expect(seen.cancelled).toHaveBeenCalledOnce();
    expect(bus.attached).toBe(0);
    expect(server.stats()).toMatchObject({ open: 0, refused: { http: 1 } });
  });

  test('is waited for where there is no deadline', async () => {
    const { body } = dripping('{"jsonrpc"');
    const answer = serving({ timeouts: { bodyMs: 0 } }).fetch(post(body));
    const late = new Promise((resolve) => setTimeout(resolve, 100, 'waits'));
    expect(await Promise.race([answer, late])).toBe('waits');
  });

  test('costs its client the connection', { timeout: 3_000 }, async () => {
    const drip = await Drip.begin(await served({ timeouts: { bodyMs: 50 } }), LISTEN_HEADERS);
    expect(await drip.status()).toBe(408);
    await drip.closed();
  });
});
