import type { ListenHandler, ListenHandlerOptions } from 'mcp-listen';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Tenants } from '../../../dist/cloudflare/route/tenants.js';
import { forgettableHandler } from '../../../dist/listen-handler.js';
import type { WireStream } from '../../host/listen.ts';
import { CAPABILITIES, declaring } from '../../host/options.ts';
import { BreakableBus } from '../bus/breakable-bus.ts';
import { listenRequest, open, TOOLS } from '../serving.ts';

const nothing = () => new Response(null, { status: 418 });

/** Room for two servers, and the calls of `stats` of any of them. */
function tenants(options: ListenHandlerOptions = {}) {
  const asked = vi.fn();
  const make = (_name: string) => {
    const made = forgettableHandler(nothing, { server: declaring(CAPABILITIES), ...options });
    const { stats } = made.server;
    made.server.stats = () => {
      asked();
      return stats();
    };
    return made;
  };
  return { tenants: new Tenants(make, 2), asked };
}

test('a server is kept while principal runs, and while a stream opens', async () => {
  const bus = new BreakableBus();
  bus.availability = 'silent';
  const named = Promise.withResolvers<string>();
  const { tenants: all } = tenants({ bus, onError: () => {}, principal: () => named.promise });
  const server = all.server('a');
  const response = server.fetch(listenRequest(TOOLS));
  for (const name of ['b', 'c']) all.server(name);
  expect(all.server('a')).toBe(server);
  for (const name of ['d', 'e']) all.server(name);
  expect(all.server('a')).toBe(server);
  named.resolve('ann');
  await expect.poll(() => bus.sockets.length).toBe(1);
  for (const name of ['f', 'g']) all.server(name);
  expect(all.server('a')).toBe(server);
  bus.availability = 'overloaded';
  bus.lose();
  expect((await response).status).toBe(503);
  for (const name of ['h', 'i']) all.server(name);
  expect(all.server('a')).not.toBe(server);
});

test('a request that never ends keeps its server for a minute', () => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const principal = () => new Promise<string>(() => {});
  const { tenants: all } = tenants({ principal, timeouts: { authorizeMs: 0 } });
  const server = all.server('a');
  void server.fetch(listenRequest(TOOLS));
  for (const name of ['b', 'c']) all.server(name);
  expect(all.server('a')).toBe(server);
  vi.setSystemTime(Date.now() + 60_000);
  for (const name of ['d', 'e']) all.server(name);
  expect(all.server('a')).not.toBe(server);
});

test('a server that drains is kept, and keeps refusing', async () => {
  const { tenants: all } = tenants();
  const server = all.server('a');
  await server.drain({ windowMs: 0 });
  for (const name of ['b', 'c', 'd']) all.server(name);
  expect((await all.server('a').fetch(listenRequest(TOOLS))).status).toBe(503);
});

test('a new server is not forgotten where all others are in use', async () => {
  const { tenants: all } = tenants();
  const streams: WireStream[] = [];
  for (const name of ['a', 'b', 'c']) {
    const server = all.server(name);
    streams.push(await open(server, TOOLS));
    expect(all.server(name)).toBe(server);
  }
  const server = all.server('d');
  expect(all.server('d')).toBe(server);
  expect(all.size).toBe(4);
  for (const stream of streams) stream.drop();
});

test('the least recently used idle server is forgotten, without a call of stats', () => {
  const { tenants: all, asked } = tenants();
  const first = all.server('a');
  const second = all.server('b');
  expect(all.server('a')).toBe(first);
  all.server('c');
  expect(all.size).toBe(2);
  expect(all.server('a')).toBe(first);
  expect(all.server('b')).not.toBe(second);
  expect(asked).not.toHaveBeenCalled();
});

test('servers that were kept because they were in use are forgotten once they are idle', async () => {
  const { tenants: all } = tenants();
  const servers: ListenHandler[] = [];
  const streams: WireStream[] = [];
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    const server = all.server(name);
    servers.push(server);
    streams.push(await open(server, TOOLS));
  }
  for (const name of ['f', 'g', 'h']) all.server(name);
  expect(all.size).toBe(6);
  for (const stream of streams) stream.drop();
  await expect.poll(() => servers.reduce((sum, server) => sum + server.stats().open, 0)).toBe(0);
  all.server('i');
  expect(all.size).toBe(2);
});
