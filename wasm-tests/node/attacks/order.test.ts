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

/** A body that yields one of `chunks` per read, and then stalls. */
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
  // Only the handler may close a connection here.
  server.keepAliveTimeout = 0;
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${portOf(server)}/mcp`;
}

describe('a listen recognized by its header fields', () => {
  test('calls principal before its body has arrived', async () => {
    const asked = Promise.withResolvers<void>();
    const principal = vi.fn<Principal>(() => void asked.resolve());
    const drip = await Drip.begin(await served({ principal }), LISTEN_HEADERS);
    await asked.promise;
    drip.drop();
    expect(principal).toHaveBeenCalledOnce();
  });

  test('from a denied caller has no byte of its body read', async () => {
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
    'refused for its %s calls no principal, and its body is not read',
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

  test('calls principal once, and is refused when its body grows too large', async () => {
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
    ['of a listen recognized by its header fields', LISTEN_HEADERS],
    ['of a listen recognized by its body', UNNAMED],
    ['of a request in a session', SESSION],
  ])('%s is refused with 408 at its deadline', async (_name, headers) => {
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

  test('has no deadline with bodyMs: 0', async () => {
    const { body } = dripping('{"jsonrpc"');
    const pending = serving({ timeouts: { bodyMs: 0 } }).fetch(post(body));
    const late = new Promise((resolve) => setTimeout(resolve, 100, 'waits'));
    expect(await Promise.race([pending, late])).toBe('waits');
  });

  test('closes the connection of its client', async () => {
    const drip = await Drip.begin(await served({ timeouts: { bodyMs: 50 } }), LISTEN_HEADERS);
    expect(await drip.status()).toBe(408);
    await drip.closed();
  });
});
