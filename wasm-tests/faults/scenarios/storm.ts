import { setTimeout } from 'node:timers/promises';
import { expect } from 'vitest';
import { Listener } from '../clients/listener.ts';
import { Order } from '../judgement/order.ts';
import type { Scenario } from '../scenario.ts';
import type { Stage } from '../stage.ts';
import { seeded } from '../wire/rules.ts';

/** Many changes: of one topic, and of many topics in a known order. */
export const STORMS: Scenario[] = [
  {
    name: '10,000 changes of one URI within a second, and a reader of one frame every 100 ms',
    promise: 'P4',
    streams: 0,
    short: 0,
    world: { isDirect: true },
    run: storm,
  },
  {
    name: 'every stream receives its topics in the order of the log',
    promise: 'P3',
    streams: 0,
    short: 0,
    world: { isDirect: true },
    run: ordered,
  },
];

/** The reader is in the isolate of the edge, so that no buffer is between it and the body. */
async function storm(stage: Stage): Promise<void> {
  const { publisher, world } = stage;
  const reading = fetch(`${world.origins[0]}/paced?everyMs=100&uri=${URI}&last=${LAST}`);
  while ((await world.busStats()).attached === 0) await setTimeout(20);
  await setTimeout(500);
  const change = JSON.stringify({ kind: 'resource_updated', uri: URI });
  const began = performance.now();
  for (let tenth = 0; tenth < 10; tenth += 1) {
    await setTimeout(Math.max(began + tenth * 100 - performance.now(), 0));
    await world.call('publishMany', change, 1_000);
  }
  const seconds = Math.max((performance.now() - began) / 1_000, 1);
  const lastAt = Date.now();
  await publisher.publish(URI);
  await publisher.publish(LAST);
  const frames = (await (await reading).json()) as { uri: string; at: number }[];
  stage.note = `${frames.length - 1} frames of 10,001 changes in ${seconds.toFixed(1)} s`;
  expect(frames.pop()?.uri).toBe(LAST);
  expect(frames.length).toBeLessThanOrEqual(FRAMES_A_SECOND * seconds);
  expect(frames.at(-1)?.at).toBeGreaterThanOrEqual(lastAt);
}

/**
 * Publishes each batch in one call, so that the order of the log is known. Every second batch has
 * each key once: there a cue that is late or early by one place is out of order. In the others keys
 * repeat, and their cues are collapsed.
 */
async function ordered(stage: Stage): Promise<void> {
  const { publisher } = stage;
  const events = stage.isWhole ? 1_000_000 : 10_000;
  const chance = seeded(3);
  const orders = Array.from({ length: STREAMS }, (_, place) => listen(stage, place));
  await Promise.all(stage.listeners.map(({ begun }) => begun));
  expect(stage.open.length).toBe(STREAMS);
  for (let sent = 0, batches = 0; sent < events; batches += 1) {
    // The state of the sentinel shows that a stream has received the whole batch.
    const batch = [...(batches % 2 === 0 ? repeated(chance) : shuffled(chance)), SENTINEL];
    sent += batch.length;
    for (const order of orders) order.next(batch);
    expect(await publisher.publish(...batch)).toBe(true);
    expect(await publisher.settle(stage.listeners)).toBe(0);
  }
  const cues = stage.listeners.reduce((sum, listener) => sum + listener.cues, 0);
  stage.note = `${events} events, ${cues} cues on ${STREAMS} streams`;
  stage.passed.inversions += orders.reduce((sum, { inversions }) => sum + inversions, 0);
}

/** Keys at random, most of them several times. */
function repeated(chance: () => number): string[] {
  return Array.from({ length: BATCH - 1 }, () => KEYS[Math.floor(chance() * KEYS.length)] ?? '');
}

/** Each key once, in any order. */
function shuffled(chance: () => number): string[] {
  return KEYS.map((key) => ({ key, lot: chance() }))
    .sort((one, other) => one.lot - other.lot)
    .map(({ key }) => key);
}

/** Opens a stream; the first one of each edge follows everything, the others a part. */
function listen({ listeners, world }: Stage, place: number): Order {
  const order = new Order();
  const uris = URIS.filter((_, at) => place < 2 || at % STREAMS === place);
  const watched = {
    toolsListChanged: true,
    resourceSubscriptions: uris,
    taskIds: [...TASKS, SENTINEL],
  };
  const listener = new Listener(`${world.origins[place % 2]}/mcp`, watched);
  listener.onCue = (key) => order.receive(key);
  listeners.push(listener);
  return order;
}

const URI = 'storm://a';
const LAST = 'storm://last';
/** The most frames in a second: a reader of one every 100 ms reads ten. */
const FRAMES_A_SECOND = 15;
const STREAMS = 8;
const BATCH = 1_000;
const URIS = Array.from({ length: 240 }, (_, place) => `order://${place}`);
const TASKS = ['task-a', 'task-b', 'task-c'];
const SENTINEL = 'task-last';
const KEYS = [...URIS, ...TASKS, 'tools'];
