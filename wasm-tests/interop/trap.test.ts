import { createServer, type Server } from 'node:http';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { createListenHandler, InMemoryBus, type ListenHandler } from 'mcp-listen';
import { toNodeHandler } from 'mcp-listen/node';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { listen } from '../host/listen.ts';
import { poison } from '../host/poison.ts';
import { portOf } from '../host/port.ts';
import { PythonClient } from './clients/python.ts';
import { SessionClient } from './clients/session.ts';
import { typescriptClient } from './clients/typescript.ts';
import { CLIENTS } from './listen-once/all.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

/** Milliseconds within which a client has reconnected: streams end within two seconds. */
const WITHIN = { timeout: 15_000 };
const KEEP_ALIVE_MS = 500;
const CHANGED = { kind: 'tools_list_changed' } as const;

/**
 * A client that keeps the list of tools as it read it after the last notification or reconnect.
 */
interface Returning {
  tools(): Promise<string[]>;
  stop(): Promise<void>;
}

/**
 * The calls of the core that trap, and the keep-alive, in milliseconds: it is off where the call is
 * a request, since one that is due before the request arrives would trap instead.
 */
const CALLS: [string, number, (server: ListenHandler, url: string) => Promise<unknown>][] = [
  [
    'a publish',
    0,
    ({ bus }) => expect(bus.publish(CHANGED)).rejects.toMatchObject({ code: 'core-trapped' }),
  ],
  [
    'an open',
    0,
    async (_, url) =>
      expect((await listen(url, { toolsListChanged: true })).response.status).toBe(503),
  ],
  // Only a keep-alive that is due calls the core.
  [
    'a timer',
    KEEP_ALIVE_MS,
    () => expect.poll(() => reported, WITHIN).toMatchObject([{ code: 'core-trapped' }]),
  ],
];

/** Official clients that listen again, by themselves or by their program. */
const RETURNING: Record<string, (url: string) => Promise<Returning>> = {
  'the TypeScript client of 2025, which opens its stream again by itself': session,
  "the TypeScript SDK's client, listening again when a subscription is lost": typescript,
  "the Python SDK's client, listening again when a subscription is lost": python,
};

let bus: InMemoryBus;
let server: ListenHandler;
let http: Server;
let url: string;
let change = 0;
/** The errors that the server has reported. */
let reported: Error[] = [];

beforeEach(() => {
  reported = [];
});

async function serve(keepAliveMs: number): Promise<void> {
  bus = new InMemoryBus({ onError: () => {} });
  server = createListenHandler(createMcpHandler(numbered), {
    bus,
    keepAliveMs,
    legacy: 'sessions',
    onError: (error) => reported.push(error),
  });
  http = createServer(toNodeHandler(server));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${portOf(http)}/mcp`;
}

afterEach(async () => {
  await server.close();
  http.closeAllConnections();
  await new Promise((resolve) => http.close(resolve));
});

describe.each(CALLS)('after a trap in %s', (_, keepAliveMs, trap) => {
  beforeEach(() => serve(keepAliveMs));

  test('each official client that listens again reconnects, and receives later changes', async () => {
    const clients = await Promise.all(
      Object.entries(RETURNING).map(async ([name, connect]) => [name, await connect(url)] as const),
    );
    const known = async () =>
      Promise.all(clients.map(async ([name, client]) => [name, await client.tools()]));
    const all = () => clients.map(([name]) => [name, [`change_${change}`]]);
    try {
      await changed();
      await expect.poll(known, WITHIN).toEqual(all());
      poison();
      await trap(server, url);
      // While no client listens; each reads again when it reconnects.
      await changed();
      await expect.poll(known, WITHIN).toEqual(all());
      await changed();
      await expect.poll(known, WITHIN).toEqual(all());
    } finally {
      await Promise.all(clients.map(([, client]) => client.stop()));
    }
  });
});

test.each(Object.entries(CLIENTS))(
  '%s, left to itself, does not reconnect after the end of its stream',
  async (_, connect) => {
    await serve(KEEP_ALIVE_MS);
    const client = await connect(url);
    try {
      await changed();
      await expect.poll(() => client.tools(), WITHIN).toEqual([`change_${change}`]);
      poison();
      await expect(bus.publish(CHANGED)).rejects.toMatchObject({ code: 'core-trapped' });
      await expect.poll(() => client.end(), WITHIN).toBeDefined();
      const { opened } = server.stats();
      const before = await client.tools();
      await changed();
      await new Promise((resolve) => setTimeout(resolve, 2 * KEEP_ALIVE_MS));
      expect(await client.tools()).toEqual(before);
      expect(server.stats().opened).toBe(opened);
    } finally {
      await client.stop();
    }
  },
);

/** Changes the list of tools. */
async function changed(): Promise<void> {
  change += 1;
  await bus.publish(CHANGED);
}

/** A server whose only tool has the number of the last change in its name. */
function numbered(): McpServer {
  const mcp = new McpServer(
    { name: 'numbered', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } } },
  );
  mcp.registerTool(`change_${change}`, { description: 'Does nothing' }, () => ({ content: [] }));
  return mcp;
}

async function session(at: string): Promise<Returning> {
  const client = await SessionClient.connect(at);
  let known: string[] = [];
  void (async () => {
    for (;;) {
      await client.next();
      known = (await client.client.listTools()).tools.map(({ name }) => name);
    }
  })().catch(() => {});
  return { tools: async () => known, stop: () => client.client.close() };
}

async function typescript(at: string): Promise<Returning> {
  const client = await typescriptClient(at);
  let known: string[] = [];
  let isOver = false;
  const read = async () => {
    known = (await client.listTools()).tools.map(({ name }) => name);
  };
  client.setNotificationHandler('notifications/tools/list_changed', read);
  const first = await client.listen({ toolsListChanged: true });
  void (async () => {
    for (let subscription = first; !isOver; ) {
      await subscription.closed;
      subscription = await again(() => client.listen({ toolsListChanged: true }));
      await read();
    }
  })().catch(() => {});
  return {
    tools: async () => known,
    stop: async () => {
      isOver = true;
      await client.close();
    },
  };
}

async function python(at: string): Promise<Returning> {
  const client = new PythonClient(at);
  let known: string[] = [];
  let opened = 0;
  const open = () => {
    opened += 1;
    return client.listen(`tools-${opened}`, { tools_list_changed: true });
  };
  await open();
  const following = (async () => {
    for (;;) {
      if ('end' in (await client.nextEvent(`tools-${opened}`))) await again(open);
      known = await client.list('tools');
    }
  })().catch(() => {});
  return {
    tools: async () => known,
    stop: async () => {
      await client.stop();
      await following;
    },
  };
}

/** Retries while a server that has just trapped responds with 503. */
async function again<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (tries === 20) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
