import { setTimeout } from 'node:timers/promises';
import { expect } from 'vitest';
import { listen } from '../../host/listen.ts';
import { heapOf } from '../heap.ts';
import { Listener } from '../listener.ts';
import type { Scenario } from '../scenario.ts';
import type { Stage } from '../stage.ts';

/** Races, storms, slow readers, idleness and drains. */
export const LOAD: Scenario[] = [
  {
    name: 'streams open while what they watch changes; every frame of the bus is late by 200 ms',
    promise: 'P2',
    streams: 0,
    short: 0,
    isBusy: true,
    world: { isDirect: true, options: { limits: { attachMs: 20_000 } } },
    run: async (stage) => {
      await stage.world.call('late', 200);
      const races = stage.isWhole ? 100_000 : 300;
      const publish = batched(stage);
      let begun = 0;
      let refused = 0;
      const racer = async (): Promise<void> => {
        for (let race = begun++; race < races; race = begun++) {
          while (!(await raced(stage, race, publish))) refused += 1;
        }
      };
      await Promise.all(Array.from({ length: 500 }, racer));
      await stage.world.call('late', 0);
      stage.note = `${refused} of the streams refused at first`;
      expect(stage.passed.streams).toBe(races);
    },
  },
  {
    name: 'thousands of changes of one URI and of one task at once',
    promise: 'P3, P4',
    streams: 20,
    short: 20,
    world: { isDirect: true },
    run: async (stage) => {
      await stage.publisher.stop();
      await setTimeout(500);
      const before = stage.listeners.map(({ cues }) => cues);
      const uri = 'shared://0';
      const changes = stage.isWhole ? 10_000 : 2_000;
      const began = performance.now();
      await stage.world.call('publishMany', JSON.stringify({ kind: 'resource_updated', uri }), changes);
      stage.publisher.knows(uri);
      await stage.world.call('publishStates', 'task', FIRST_STATE, changes);
      stage.publisher.knows('task', FIRST_STATE + changes - 1);
      const ms = Math.round(performance.now() - began);
      await stage.publisher.publish(uri);
      await stage.publisher.settled(stage.open);
      const cues = stage.listeners.map(({ cues }, place) => cues - (before[place] ?? 0));
      expect(Math.max(...cues)).toBeLessThanOrEqual(2 * changes + 1);
      stage.note = `2 x ${changes} events in ${ms} ms: ${Math.min(...cues)} to ${Math.max(...cues)} cues a stream`;
    },
  },
  {
    name: 'a client that does not read, then reads',
    promise: 'P3, P5',
    streams: 0,
    short: 0,
    world: { isDirect: true, inspected: true, options: { stallMs: 0 } },
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
      // Asking wakes it: once, if it slept all the time.
      expect(await stage.world.call('wakes')).toBe(wakes + 1);
    },
  },
  {
    name: 'a publish that nobody listens to',
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
    name: 'one edge drains over 10 s, and its clients come back at the other',
    promise: 'P8',
    streams: 0,
    world: { isDirect: true },
    hasEnds: true,
    run: drained,
  },
];

/**
 * Opens a stream, publishes for it before and after its acknowledgment, and waits for the last state; answers false
 * where the stream was refused.
 */
async function raced(stage: Stage, race: number, publish: (key: string) => Promise<void>): Promise<boolean> {
  const key = `task-${race}`;
  const listener = new Listener(`${stage.world.origins[race % 2]}/mcp`, { taskIds: [key] });
  const before = setTimeout(Math.random() * 300).then(() => publish(key));
  await listener.begun;
  await before;
  if (listener.status === 503) return false;
  await publish(key);
  const missing = await stage.publisher.settled([listener], 20_000);
  if (!listener.isOpen || missing > 0) stage.passed.missing += 1;
  stage.dismiss(listener);
  return true;
}

/** Publishes what is asked for within ten milliseconds in one request. */
function batched({ publisher }: Stage): (key: string) => Promise<void> {
  const keys: string[] = [];
  let publishing: Promise<unknown> = Promise.resolve();
  return async (key) => {
    keys.push(key);
    if (keys.length === 1) {
      publishing = setTimeout(10).then(() => publisher.publish(...keys.splice(0)));
    }
    await publishing;
  };
}

/** One stream on the first edge is not read; two on the second are. */
async function unread(stage: Stage): Promise<void> {
  const { edges, origins } = stage.world;
  const events = stage.isWhole ? 1_000_000 : 5_000;
  const idle = stage.listen(origins[0]);
  await Promise.all([idle, stage.listen(origins[1]), stage.listen(origins[1])].map(({ begun }) => begun));
  idle.pause();
  const heap = () => heapOf(edges[0]?.inspector ?? '', () => stage.world.stats(0));
  await published(stage, 1, WARM_UP);
  const before = await heap();
  await published(stage, WARM_UP + 1, events);
  const grown = (await heap()) - before;
  stage.publisher.knows('task', WARM_UP + events);
  const seen = idle.cues;
  idle.resume();
  expect(await stage.publisher.settled(stage.listeners)).toBe(0);
  stage.note = `${events} events: heap of its edge grew by ${Math.round(grown / 1_024)} KB; it heard ${seen} cues before, ${idle.cues - seen} after`;
  expect(grown).toBeLessThanOrEqual(100 * 1_024);
}

/** States of the task, a thousand in one call. */
async function published({ world }: Stage, from: number, count: number): Promise<void> {
  for (let at = from; at < from + count; at += 1_000) await world.call('publishStates', 'task', at, 1_000);
}

async function drained(stage: Stage): Promise<void> {
  const { origins } = stage.world;
  const leaving: Listener[] = [];
  for (let batch = 0; batch < 20; batch += 1) {
    const opened = Array.from({ length: 100 }, () => stage.listen(origins[0]));
    await Promise.all(opened.map(({ begun }) => begun));
    leaving.push(...opened);
  }
  // No more than two cores can write to 2,000 streams within a second: what is late is not lost.
  stage.spin(250);
  await setTimeout(1_000);
  const began = performance.now();
  const draining = fetch(`${origins[0]}/drain?windowMs=${DRAIN_MS}`);
  await setTimeout(500);
  const { response } = await listen(`${origins[0]}/mcp`, { toolsListChanged: true });
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2']);
  await Promise.all(leaving.map((listener) => returnedFrom(listener, stage)));
  expect((await draining).status).toBe(200);
  const unheard = (ms: number): number =>
    leaving.filter((listener) => stage.publisher.missingOf(listener, listener.endedAt - ms).length > 0).length;
  stage.passed.missing += unheard(DEAF_MS);
  const tenths = histogram(leaving.map(({ endedAt }) => (endedAt - began) / DRAIN_MS));
  stage.note = `2,000 ends by tenths of the window: ${tenths.join(', ')}; ${unheard(1_000)} ended with something a second old on its way, which their clients read when they came back`;
  expect(Math.max(...tenths)).toBeLessThan(600);
  await setTimeout(1_000);
}

/** Its client comes back at the other edge when it ends. */
async function returnedFrom(listener: Listener, stage: Stage): Promise<void> {
  while (!listener.isOver) await setTimeout(20);
  expect(listener.hasResult).toBe(false);
  await stage.comeBack(stage.world.origins[1]);
}

function histogram(shares: number[]): number[] {
  const tenths = Array.from({ length: 11 }, () => 0);
  for (const share of shares) {
    const tenth = Math.min(Math.max(Math.floor(share * 10), 0), 10);
    tenths[tenth] = (tenths[tenth] ?? 0) + 1;
  }
  return tenths;
}

/** Beyond all that the publisher has said before. */
const FIRST_STATE = 1_000_000;
/** Events that fill what lies between an edge and a client that does not read. */
const WARM_UP = 5_000;
const DRAIN_MS = 10_000;
/** A stream that ends this long after a change must have told of it, however much its machine has to do. */
const DEAF_MS = 5_000;
