import { setTimeout } from 'node:timers/promises';
import { expect } from 'vitest';
import { listen } from '../../host/listen.ts';
import { Listener } from '../clients/listener.ts';
import { publishStates, TASKS, WARM_UP, WIDE } from '../clients/states.ts';
import { stalledMs, stallsUntil } from '../judgement/stalls.ts';
import type { Scenario } from '../scenario.ts';
import type { Stage } from '../stage.ts';

/** What the scenarios in which an edge drains have in common. */
const DRAINING = {
  promise: 'P8',
  streams: 0,
  short: 0,
  world: { isDirect: true },
  opens: { short: 200, whole: 2_000 },
  ends: { most: (streams: number) => streams, why: 'a drain ends each stream of its edge once' },
};

/** Slow readers, idle streams and drains. */
export const LOAD: Scenario[] = [
  {
    name: 'a client that does not read, then reads',
    promise: 'P3, P5',
    streams: 0,
    short: 0,
    world: { isDirect: true, inspected: true, options: { timeouts: { writeMs: 0 } } },
    run: unread,
  },
  {
    name: 'five minutes without events',
    promise: 'P7',
    streams: 1_000,
    run: async (stage) => {
      await stage.publisher.stop();
      const wakes = await stage.world.call<number>('wakes');
      const { requests } = stage.world.wire.counts;
      await setTimeout(300_000);
      expect(stage.world.wire.counts.requests).toBe(requests);
      // This call wakes it: once, if it hibernated all the time.
      expect(await stage.world.call('wakes')).toBe(wakes + 1);
    },
  },
  {
    name: 'streams open while the bus hibernates, which wakes once for each',
    promise: 'P7',
    streams: 200,
    run: async (stage) => {
      await stage.publisher.stop();
      const wakes = await stage.world.call<number>('wakes');
      for (let opened = 0; opened < 3; opened += 1) {
        await stage.idle();
        await stage.addStreams(1);
      }
      await stage.idle();
      expect(stage.open.length).toBe(203);
      // This call wakes it too.
      expect(await stage.world.call('wakes')).toBe(wakes + 4);
    },
  },
  {
    name: 'a publish without streams',
    promise: 'P7',
    streams: 0,
    short: 0,
    run: async (stage) => {
      const { requests, upgrades } = stage.world.wire.counts;
      expect(await stage.publisher.publish('tools')).toBe(true);
      expect(stage.world.wire.counts).toEqual({ requests: requests + 1, upgrades });
      stage.note = 'one request to the bus';
    },
  },
  {
    name: 'one edge drains over 30 s, and its clients reconnect to the other',
    ...DRAINING,
    run: drain,
  },
  {
    name: 'one edge drains over 30 s while every frame of the bus is late by 200 ms',
    ...DRAINING,
    run: async (stage) => {
      await stage.world.call('late', 200);
      await drain(stage);
      // A delayed frame counts as a timer.
      await stage.world.call('late', 0);
      await setTimeout(500);
    },
  },
];

/**
 * Leaves one stream at the first edge unread; two at the second are read. What has filled the
 * buffers below the unread stream is not judged; after that its memory must not grow.
 */
async function unread(stage: Stage): Promise<void> {
  const events = stage.isWhole ? 1_000_000 : 5_000;
  const idle = listenForTasks(stage, 0);
  for (let others = 0; others < 2; others += 1) listenForTasks(stage, 1);
  await Promise.all(stage.listeners.map(({ begun }) => begun));
  idle.pause();
  const once = () => stage.world.memory(0);
  // What is kept is there each time; what a request needs meanwhile is not.
  const memory = async () => Math.min(await once(), await once(), await once());
  await publishStates(stage, 1, WARM_UP, WIDE);
  const before = await memory();
  const { notifications } = await stage.world.stats(0);
  await publishStates(stage, WARM_UP + 1, events);
  const grown = (await memory()) - before;
  const written = (await stage.world.stats(0)).notifications - notifications;
  const seen = idle.cues;
  idle.resume();
  expect(await stage.publisher.settle(stage.listeners)).toBe(0);
  const kilobytes = Math.round(grown / 1_024);
  stage.note = `${events} events: the memory of its edge grew by ${kilobytes} KB; it received ${seen} cues before, ${idle.cues - seen} after`;
  expect(grown).toBeLessThanOrEqual(100 * 1_024);
  // Its buffers were full: at most one chunk, with a state of each task, still had room.
  expect(written).toBeLessThanOrEqual(TASKS.length);
}

/** Opens a stream that follows all tasks. */
function listenForTasks({ listeners, world }: Stage, edge: 0 | 1): Listener {
  const listener = new Listener(`${world.origins[edge]}/mcp`, { taskIds: TASKS });
  listeners.push(listener);
  return listener;
}

/** Drains one edge. Streams end in the order of their opening, spread over the window. */
async function drain(stage: Stage): Promise<void> {
  const { publisher, world } = stage;
  const streams = stage.opens;
  const leaving: Listener[] = [];
  for (let place = 0; place < streams; place += 1) {
    leaving.push(stage.listen(world.origins[0]));
    await leaving[place]?.begun;
  }
  expect(stage.open.length).toBe(streams);
  stage.keepPublishing();
  await setTimeout(1_000);
  const began = performance.now();
  const leave = leaveFirstEdge(stage, leaving);
  const ask = () => Promise.all([world.stats(0), world.untilBusRuns()]);
  const stalls = stage.isWhole ? [] : await stallsUntil(leave, ask);
  await leave;
  const dueAt = (place: number): number => began + (place * DRAIN_MS) / streams;
  const lost = leaving.filter(
    (listener, place) =>
      publisher.missingOf(listener, dueAt(place)).length > 0 &&
      stalledMs(stalls, dueAt(place), listener.endedAt) < EXCUSED_MS,
  );
  stage.passed.missing += lost.length;
  const tenths = histogram(leaving.map(({ endedAt }) => (endedAt - began) / DRAIN_MS));
  stage.note = `${streams} ends by tenths of the window: ${tenths.join(', ')}`;
  // What was due in a stall ends after it, within the time that the stall took.
  const late = stalls.map(({ from, to }) => ({ from: to, to: to + (to - from) }));
  const startOf = (tenth: number): number => began + (tenth * DRAIN_MS) / 10;
  const most = (tenth: number): number =>
    (MAX_SHARE / 10 + stalledMs(late, startOf(tenth), startOf(tenth + 1)) / DRAIN_MS) * streams;
  expect(tenths.filter((ends, tenth) => ends > most(tenth))).toEqual([]);
  await setTimeout(1_000);
}

/** Drains the first edge, which refuses streams meanwhile; its clients reconnect to the other. */
async function leaveFirstEdge(stage: Stage, leaving: readonly Listener[]): Promise<void> {
  const [edge] = stage.world.origins;
  const draining = fetch(`${edge}/drain?windowMs=${DRAIN_MS}`);
  await setTimeout(500);
  const { response } = await listen(`${edge}/mcp`, { toolsListChanged: true });
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2']);
  await Promise.all(leaving.map((listener) => reconnectAfter(listener, stage)));
  expect((await draining).status).toBe(200);
}

/** Reconnects a client to the other edge when its stream ends. */
async function reconnectAfter(listener: Listener, stage: Stage): Promise<void> {
  while (!listener.isOver) await setTimeout(20);
  expect(listener.hasResult).toBe(false);
  await stage.reconnect(stage.world.origins[1]);
}

function histogram(shares: number[]): number[] {
  const tenths = Array.from({ length: 11 }, () => 0);
  for (const share of shares) {
    const tenth = Math.min(Math.max(Math.floor(share * 10), 0), 10);
    tenths[tenth] = (tenths[tenth] ?? 0) + 1;
  }
  return tenths;
}

const DRAIN_MS = 30_000;
/** The most ends in a tenth of the window, as a multiple of an even share. */
const MAX_SHARE = 1.5;
/**
 * Milliseconds of stalls after which a stream may end without its last events: it ends three
 * seconds after its time, whether the bus has replied or not.
 */
const EXCUSED_MS = 2_000;
