import { setTimeout } from 'node:timers/promises';
import type { Listener } from '../clients/listener.ts';
import type { Publisher } from '../clients/publisher.ts';

/** Milliseconds of several measurements. */
export interface Spread {
  median: number;
  p99: number;
  max: number;
}

/**
 * Publishes a change of every key of these streams. Resolves with the milliseconds from `since` to
 * the cue of each key on each open stream, one number for each pair. A cue that does not arrive
 * counts with the time of the wait.
 */
export async function measureHealing(
  publisher: Publisher,
  listeners: readonly Listener[],
  since: number,
): Promise<number[]> {
  const waiting = new Map(listeners.map((each) => [each, new Set<string>()] as const));
  const times: number[] = [];
  for (const [listener, keys] of waiting) {
    listener.onCue = (key, at) => {
      if (keys.delete(key)) times.push(at - since);
    };
  }
  for (const keys of batches(listeners)) await publishBatch(publisher, keys, waiting);
  await untilEmpty(waiting);
  for (const [listener, keys] of waiting) {
    listener.onCue = undefined;
    if (listener.isOpen) for (const _ of keys) times.push(performance.now() - since);
  }
  return times;
}

/** The median, the 99th percentile and the maximum. */
export function spread(times: readonly number[]): Spread {
  const sorted = [...times].sort((one, other) => one - other);
  const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
  return { median: at(0.5), p99: at(0.99), max: at(1) };
}

/** The keys in batches, those of many streams first. */
function batches(listeners: readonly Listener[]): string[][] {
  const watched = new Map<string, number>();
  for (const { keys } of listeners) {
    for (const key of keys) watched.set(key, (watched.get(key) ?? 0) + 1);
  }
  const keys = [...watched].sort(([, one], [, other]) => other - one).map(([key]) => key);
  const count = Math.ceil(keys.length / BATCH);
  return Array.from({ length: count }, (_, at) => keys.slice(at * BATCH, (at + 1) * BATCH));
}

/**
 * Publishes until the bus accepts it. Only cues after the beginning of the publish count.
 *
 * @throws Error if the bus refuses it for {@link REFUSED_MS}.
 */
async function publishBatch(
  publisher: Publisher,
  keys: readonly string[],
  waiting: ReadonlyMap<Listener, Set<string>>,
): Promise<void> {
  for (const [listener, waits] of waiting) {
    for (const key of keys) if (listener.keys.has(key)) waits.add(key);
  }
  const until = performance.now() + REFUSED_MS;
  while (!(await publisher.publish(...keys))) {
    if (performance.now() > until) throw new Error('the bus accepts no publish any more');
    await setTimeout(AGAIN_MS);
  }
}

async function untilEmpty(waiting: ReadonlyMap<Listener, ReadonlySet<string>>): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  const isWaiting = () => [...waiting].some(([{ isOpen }, keys]) => isOpen && keys.size > 0);
  while (isWaiting() && performance.now() < until) await setTimeout(20);
}

const BATCH = 250;
const AGAIN_MS = 20;
const PATIENCE_MS = 60_000;
/** Longer than any scenario keeps publishes from the bus. */
const REFUSED_MS = 120_000;
