import { setTimeout as pause } from 'node:timers/promises';
import { createListenHandler, type Topic, type WantedOptions } from 'mcp-listen';
import { broadcastChannelBus } from 'mcp-listen/broadcast-channel';
import { natsBus } from 'mcp-listen/nats';
import { type ProcessBus, redisBus } from 'mcp-listen/redis';
import { afterEach, describe, expect, test } from 'vitest';
import { placeOn } from '../../dist/testing/place.js';
import { COUNTS } from '../../dist/testing/promises.js';
import { postgresBus } from '../../examples/postgres/postgres-bus.ts';
import {
  acknowledged,
  LISTEN_HEADERS,
  listChanged,
  listenBody,
  WireStream,
} from '../host/listen.ts';
import { declaring } from '../host/options.ts';
import { startNats, startPostgres, startRedis } from './brokers/broker-process.ts';

type Make = (wanted: WantedOptions) => ProcessBus;
const NOTE = { kind: 'resource_updated', uri: 'note://a' } satisfies Topic;
const TOOLS = { kind: 'tools_list_changed' } satisfies Topic;
const NOTE_ONLY = { resourceSubscriptions: [NOTE.uri] };
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** A process with a server, and the calls of its hooks for the note. */
function process(make: Make, options: WantedOptions = {}) {
  const calls: string[] = [];
  const bus = make({
    unwantedMs: 500,
    onWanted({ kind }, { isAgain }) {
      if (kind === NOTE.kind) calls.push(isAgain ? 'again' : 'wanted');
    },
    onUnwanted({ kind }) {
      if (kind === NOTE.kind) calls.push('unwanted');
    },
    ...options,
  });
  const server = createListenHandler(() => new Response(null, { status: 418 }), {
    bus,
    server: declaring({ resources: { subscribe: true }, tools: { listChanged: true } }),
  });
  stops.push(() => bus.close());
  return { bus, calls, server };
}

async function open(
  { server }: ReturnType<typeof process>,
  filter: object = NOTE_ONLY,
): Promise<WireStream> {
  const abort = new AbortController();
  const body = listenBody(filter);
  const init = { method: 'POST', headers: LISTEN_HEADERS, body, signal: abort.signal };
  const request = new Request('http://localhost/mcp', init);
  abort.signal.addEventListener('abort', () => void request);
  return new WireStream(await server.fetch(request), abort);
}

const brokers: [string, () => Promise<Make>][] = [
  ['broadcastChannelBus', async () => (wanted) => broadcastChannelBus({ wanted, bus: 'wanted' })],
  [
    'redisBus',
    async () => {
      const broker = await startRedis();
      stops.push(() => broker.stop());
      return (wanted) => redisBus(`redis://127.0.0.1:${broker.port}`, { wanted });
    },
  ],
  ['natsBus with JetStream', () => nats(true)],
  ['natsBus without JetStream', () => nats(false)],
  [
    'the example postgresBus',
    async () => {
      const broker = await startPostgres();
      stops.push(() => broker.stop());
      return (wanted) =>
        postgresBus(`postgres://postgres@127.0.0.1:${broker.port}/postgres`, 'notebook', {
          wanted,
        });
    },
  ],
];

async function nats(hasJetStream: boolean): Promise<Make> {
  const broker = await startNats(hasJetStream);
  stops.push(() => broker.stop());
  return (wanted) => natsBus(`nats://127.0.0.1:${broker.port}`, { wanted });
}

describe.each(brokers)('%s', (_name, start) => {
  test('one of several processes calls the hooks for all of them, and another one takes over', async () => {
    const make = await start();
    const [one, two] = [process(make), process(make)];
    await Promise.all([one.bus.ready(), two.bus.ready()]);
    const first = await open(one);
    expect(one.calls).toEqual(['wanted']);
    await expect.poll(() => two.bus.isWanted(NOTE)).toBe(true);
    const second = await open(two);
    // Signals keep their order: with the later one, the first process has that of the note.
    const later = await open(two, { toolsListChanged: true });
    await expect.poll(() => one.bus.isWanted(TOOLS)).toBe(true);
    first.drop();
    await pause(900);
    expect([one.calls, two.calls]).toEqual([['wanted'], []]);
    await one.bus.close();
    await expect.poll(() => two.calls).toEqual(['again']);
    expect(one.calls).toEqual(['wanted', 'unwanted']);
    second.drop();
    later.drop();
    await expect.poll(() => two.calls).toEqual(['again', 'unwanted']);
    expect(await two.bus.isWanted(NOTE)).toBe(false);
  });

  test(COUNTS.name, async () => {
    const make = await start();
    const [one, two] = [process(make), process(make)];
    await Promise.all([one.bus.ready(), two.bus.ready()]);
    await COUNTS.keeps({
      ...{ here: placeOn(one.bus), there: placeOn(two.bus) },
      stop: async () => {},
    });
  });

  test('what the hook refuses is left out of the acknowledgment, in each process', async () => {
    const make = await start();
    const asked: string[] = [];
    const refusing = (name: string) =>
      process(make, {
        onWanted({ kind }) {
          asked.push(`${name}: ${kind}`);
          return kind !== NOTE.kind;
        },
      });
    const [one, two] = [refusing('one'), refusing('two')];
    await Promise.all([one.bus.ready(), two.bus.ready()]);
    const filter = { ...NOTE_ONLY, toolsListChanged: true };
    const first = await open(one, filter);
    await expect.poll(() => two.bus.isWanted(TOOLS)).toBe(true);
    const second = await open(two, filter);
    for (const stream of [first, second])
      expect(await stream.message()).toBe(acknowledged('1', { toolsListChanged: true }));
    // The first process has the list for both; a refusal holds for the process that was asked.
    expect(asked.sort()).toEqual([`one: ${NOTE.kind}`, `one: ${TOOLS.kind}`, `two: ${NOTE.kind}`]);
    expect(await Promise.all([one, two].map(({ bus }) => bus.isWanted(NOTE)))).toEqual([
      false,
      false,
    ]);
    await one.bus.publish(NOTE);
    await one.bus.publish(TOOLS);
    for (const stream of [first, second])
      expect(await stream.message()).toBe(listChanged('1', 'tools'));
  });
});
