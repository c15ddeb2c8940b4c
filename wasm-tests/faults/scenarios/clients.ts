import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Watched } from '../clients/listener.ts';
import * as misbehaving from '../clients/misbehaving.ts';
import { publishStates, TASKS, WARM_UP, WIDE } from '../clients/states.ts';
import type { Scenario } from '../scenario.ts';
import type { Stage } from '../stage.ts';
import { buffering, merging, type Pieces, Relay, splitting } from '../wire/relay.ts';

/** Faults of clients, and of proxies between them and their edges. */
export const CLIENTS: Scenario[] = [
  misbehave('leave right after their request', misbehaving.abortsAtOnce, 10_000),
  misbehave('reset before the acknowledgment', misbehaving.abortsBeforeTheAck, 2_000),
  misbehave(
    'leave between the acknowledgment and the first event',
    misbehaving.abortsAfterTheAck,
    2_000,
  ),
  misbehave('reset within a message', misbehaving.resetsInAMessage, 1_000),
  misbehave('half-close', misbehaving.halfCloses, 500),
  misbehave('never read', misbehaving.neverReads, 200),
  misbehave('read one byte a second', misbehaving.readsOneByteASecond, 200),
  stall('never read, writeMs 3,000', misbehaving.neverReads),
  stall('read one byte a second, writeMs 3,000', misbehaving.readsOneByteASecond),
  relayed('splits every byte', splitting),
  relayed('merges bytes within 50 ms', merging(50)),
  relayed('forwards blocks of 4 KiB only', buffering(4_096)),
  {
    name: 'every byte of the bus arrives separately',
    promise: 'P1, P6',
    streams: 100,
    world: { pieces: splitting },
    run: async (stage) => {
      await setTimeout(5_000);
      stage.world.wire.cut();
      await stage.heal();
    },
  },
  {
    name: 'all clients disconnect and reconnect at once',
    promise: 'P6',
    streams: 3_000,
    world: { isDirect: true },
    run: async (stage) => {
      const began = performance.now();
      const count = stage.open.length;
      for (const listener of stage.open) stage.drop(listener);
      const refusals = await Promise.all(Array.from({ length: count }, () => stage.reconnect()));
      const refused = refusals.reduce((all, each) => all + each, 0);
      expect(stage.open.length).toBe(count);
      stage.note = `all ${count} back after ${seconds(began)} s, with ${refused} refusals`;
      await setTimeout(2_000);
    },
  },
];

/** Misbehaving clients connect a hundred at a time beside other streams, and leave nothing. */
function misbehave(what: string, behave: misbehaving.Behavior, count: number): Scenario {
  return {
    name: `clients that ${what}`,
    promise: 'P6',
    streams: 50,
    world: { isDirect: true, options: { keepAliveMs: 1_000 } },
    run: async (stage) => {
      const sockets = [];
      for (let done = 0; done < count; done += 100)
        sockets.push(...(await connectAll(stage, behave, Math.min(100, count - done))));
      await setTimeout(5_000);
      for (const socket of sockets) socket.destroy();
      await untilStreams(stage, 0);
      stage.note = `${count} clients`;
    },
  };
}

/** Clients that read too little for what is published: the edges end their streams. */
function stall(what: string, behave: misbehaving.Behavior): Scenario {
  return {
    name: `clients that ${what}`,
    promise: 'P5, P6',
    streams: 50,
    world: { isDirect: true, options: { timeouts: { writeMs: 3_000 }, keepAliveMs: 1_000 } },
    run: async (stage) => {
      const sockets = await connectAll(stage, behave, STALLED, { taskIds: TASKS });
      await untilStreams(stage, STALLED);
      await publishStates(stage, 1, WARM_UP, WIDE);
      const stalled = async () => {
        const edges = await Promise.all([stage.world.stats(0), stage.world.stats(1)]);
        return edges.map(({ ended }) => ended.stalled).reduce((all, count) => all + count);
      };
      await expect.poll(stalled, { timeout: 60_000, interval: 500 }).toBe(STALLED);
      for (const socket of sockets) socket.destroy();
      await untilStreams(stage, 0);
      stage.note = `${STALLED} clients`;
    },
  };
}

/** Connects misbehaving clients to both edges at once. */
function connectAll(
  { world }: Stage,
  behave: misbehaving.Behavior,
  count: number,
  filter: Watched = { toolsListChanged: true },
): Promise<Socket[]> {
  const connecting = Array.from({ length: count }, (_, place) =>
    misbehaving.connectTo(world.origins[place % 2] ?? '', filter, behave),
  );
  return Promise.all(connecting);
}

/** Resolves once the edges hold the streams of the other clients, and so many more. */
async function untilStreams(stage: Stage, more: number): Promise<void> {
  const streams = async () => (await stage.world.holding()).streams;
  const count = stage.open.length + more;
  await expect.poll(streams, { timeout: 60_000, interval: 500 }).toBe(count);
}

function relayed(what: string, pieces: Pieces): Scenario {
  return {
    name: `a proxy before an edge ${what}`,
    promise: 'P1, P4',
    streams: 0,
    run: async (stage) => {
      const relay = await Relay.start(stage.world.origins[0] ?? '', pieces);
      const listeners = Array.from({ length: 20 }, () => stage.listen(relay.origin));
      const open = (): number => listeners.filter(({ isOpen }) => isOpen).length;
      await feed(stage, () => open() === listeners.length);
      expect(open(), 'open through the proxy').toBe(listeners.length);
      stage.keepPublishing();
      await setTimeout(5_000);
      await stage.publisher.stop();
      await feed(stage, () => stage.publisher.missing(listeners) === 0);
      expect(open(), 'open through the proxy at the end').toBe(listeners.length);
      expect(stage.publisher.missing(listeners)).toBe(0);
      for (const listener of listeners) stage.drop(listener);
      relay.stop();
      stage.note = `20 streams, ${listeners.reduce((all, { cues }) => all + cues, 0)} cues`;
    },
  };
}

/** Publishes other events, which push held bytes out of a buffer, until `isDone`. */
async function feed(stage: Stage, isDone: () => boolean): Promise<void> {
  for (let round = 0; round < 200 && !isDone(); round += 1) {
    await stage.world.call('publishMany', JSON.stringify({ kind: 'tools_list_changed' }), 5);
    await setTimeout(50);
  }
}

function seconds(began: number): string {
  return ((performance.now() - began) / 1_000).toFixed(1);
}

/** Clients whose buffers are filled, with up to 4 MB each. */
const STALLED = 20;
