import { ProtocolError } from '@modelcontextprotocol/client';
import { createListenHandler, InMemoryBus } from 'mcp-listen';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { serveOnNode } from '../../host/node-http.ts';
import { discovering } from '../../host/servers/discovering.ts';
import { PythonClient, type Reply } from '../clients/python.ts';
import { typescriptClient } from '../clients/typescript.ts';

/** A client of an SDK that knows nothing of events, and sends them by its generic request. */
interface GenericClient {
  ask(method: string, params: Record<string, unknown>): Promise<Reply>;
  stop(): Promise<unknown>;
}

const EXTENSION = 'io.modelcontextprotocol/events';
const CLIENTS = [
  ['TypeScript', inTypescript],
  ['Python', inPython],
] as const;
/** The numbers of NotFound and Forbidden, by the extensions that a client declares. */
const NUMBERS = [
  ['that declares the extension', [EXTENSION], { notFound: -32_023, forbidden: -32_024 }],
  ['that declares nothing', [], { notFound: -32_011, forbidden: -32_012 }],
] as const;
const COMBINATIONS = ([400, 200] as const).flatMap((status) =>
  CLIENTS.flatMap(([sdk, connect]) =>
    NUMBERS.map(([what, extensions, numbers]) => ({
      ...{ status, sdk, connect, what },
      ...{ extensions, numbers },
    })),
  ),
);

describe.each(COMBINATIONS)(
  'errors have status $status: a $sdk client $what',
  ({ connect, extensions, numbers, status }) => {
    let client: GenericClient;
    let server: Awaited<ReturnType<typeof serving>>;

    beforeAll(async () => {
      server = await serving(status);
      client = await connect(server.url, [...extensions]);
    });

    afterAll(async () => {
      await client?.stop();
      await server?.stop();
    });

    test('lists the event types, and polls what was published', async () => {
      const { result: listed } = await client.ask('events/list', {});
      const delivery = ['poll', 'push'];
      expect(listed?.['events']).toMatchObject([
        { name: 'order.kept', delivery },
        { name: 'order.paid', delivery },
      ]);
      const { result: first } = await client.ask('events/poll', PAID);
      await server.publish({ amount: 12 });
      const { result } = await client.ask('events/poll', { ...PAID, cursor: first?.['cursor'] });
      expect(result).toMatchObject({ events: [{ data: { amount: 12 } }], hasMore: false });
    });

    test.each([
      ['an unknown type', { name: 'order.lost' }, 'notFound', { kind: 'event' }],
      ['a forbidden type', { name: 'order.kept' }, 'forbidden', { reason: 'closed today' }],
    ] as const)('reads code and data of the error for %s', async (_what, params, error, data) => {
      const { refusal } = await client.ask('events/poll', params);
      expect(refusal).toEqual({ code: numbers[error], data });
      expect(server.statuses.at(-1)).toBe(status);
    });

    test('reads the code of the error for wrong parameters', async () => {
      const { refusal } = await client.ask('events/poll', { ...PAID, arguments: 'none' });
      expect(refusal).toMatchObject({ code: -32_602 });
      expect(server.statuses.at(-1)).toBe(status);
    });
  },
);

test('a TypeScript client receives a stream by its handler of other notifications', async () => {
  const server = await serving(400);
  const client = await typescriptClient(server.url);
  onTestFinished(async () => {
    await client.close();
    await server.stop();
  });
  const received: unknown[] = [];
  client.fallbackNotificationHandler = async ({ method, params }) => {
    received.push([method, params?.['data']]);
  };
  const abort = new AbortController();
  const request = { method: 'events/stream', params: PAID };
  const stream = client.request(request, z.looseObject({}), { signal: abort.signal });
  await expect.poll(() => received).toEqual([['notifications/events/active', undefined]]);
  await server.publish({ amount: 12 });
  await expect.poll(() => received[1]).toEqual(['notifications/events/event', { amount: 12 }]);
  abort.abort();
  await expect(stream).rejects.toThrow();
});

const PAID = { name: 'order.paid', arguments: {} };

/** A server whose errors have this status, and the statuses of its responses. */
async function serving(errorStatus: 200 | 400) {
  const handler = createListenHandler(discovering, {
    bus: new InMemoryBus({ events: eventLog() }),
    events: defineEvents(
      { 'order.paid': {}, 'order.kept': {} },
      {
        errorStatus,
        authorize: ({ mode, name }) =>
          mode === undefined || name !== 'order.kept' || 'closed today',
      },
    ),
  });
  const statuses: number[] = [];
  const node = await serveOnNode(async (request) => {
    const response = await handler.fetch(request);
    statuses.push(response.status);
    return response;
  });
  return {
    url: `${node.origin}/mcp`,
    statuses,
    publish: (data: Record<string, unknown>) => handler.notify.event('order.paid', data),
    stop: () => node.stop(),
  };
}

async function inTypescript(url: string, extensions: string[]): Promise<GenericClient> {
  const declared = Object.fromEntries(extensions.map((extension) => [extension, {}]));
  const client = await typescriptClient(url, { capabilities: { extensions: declared } });
  return {
    ask: async (method, params) => {
      try {
        return { result: await client.request({ method, params }, z.looseObject({})) };
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error;
        return { refusal: { code: error.code, data: error.data } };
      }
    },
    stop: () => client.close(),
  };
}

async function inPython(url: string, extensions: string[]): Promise<GenericClient> {
  const client = new PythonClient(url, 'auto', extensions);
  return {
    ask: (method, params) => client.request(method, params),
    stop: () => client.stop(),
  };
}
