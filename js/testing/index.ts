/**
 * What every bus promises, as tests for buses of your own, in any framework.
 *
 * @packageDocumentation
 */
import '#runtime';
import type { ProcessBus } from '../bus/broker-bus.js';
import { placeOn } from './place.js';
import { CLOSES, DROPS, EVERY, LOSES_NOTHING, REPLAYS, REPORTS, SURVIVES } from './promises.js';
import type { BusPromiseOn, ClosableRig, CutRig, MortalRig, OpenRig } from './rig.js';

/** One promise of a bus, as a test. */
export interface BusPromise {
  /** What is promised, as a sentence that begins with the name of the bus. */
  name: string;
  /** Rejects where the bus does not keep it. Give it at least 60,000 milliseconds. */
  run: () => Promise<void>;
}

/** What can be done to a bus under test; what is left out is not tested. */
export interface BusFaults {
  /**
   * Publishes a text as the broker of the bus would carry it, without the bus. Resolves with false
   * where the broker refuses such a text, for its length for example.
   */
  garbage?: (text: string) => Promise<unknown>;
  /** Cuts the second of the two buses off from the broker until `meanwhile` has resolved. */
  absence?: (meanwhile: () => Promise<void>) => Promise<void>;
  /**
   * Whether the broker keeps events for a bus that was cut off.
   *
   * @default false
   */
  replays?: boolean;
  /** Kills the broker, and starts it again after `meanwhile` without anything that it had kept. */
  loss?: (meanwhile: () => Promise<void>) => Promise<void>;
}

/**
 * Returns what every bus promises, as a list of tests. Each of them calls `makeBus` twice, for two
 * processes that share the bus, and closes both buses at its end.
 *
 * @example
 * ```ts
 * import { test } from 'vitest';
 * import { busPromises } from 'mcp-listen/testing';
 *
 * const promises = busPromises('postgresBus', () => postgresBus(url));
 * for (const { name, run } of promises) test(name, run, 60_000);
 * ```
 */
export function busPromises(
  name: string,
  makeBus: () => ProcessBus | Promise<ProcessBus>,
  faults: BusFaults = {},
): BusPromise[] {
  return promisedBy(faults).map((promise) => ({
    name: `${name} ${promise.name}`,
    run: async () => {
      const rig = rigOf(await makeBus(), await makeBus(), faults);
      try {
        await promise.keeps(rig);
      } finally {
        await rig.stop();
      }
    },
  }));
}

/** Everything can happen to a rig; which of it does is what {@link promisedBy} chooses. */
type AnyRig = OpenRig & CutRig & MortalRig & ClosableRig;

function promisedBy({
  absence,
  garbage,
  loss,
  replays = false,
}: BusFaults): BusPromiseOn<AnyRig>[] {
  return [
    ...EVERY,
    ...(garbage ? [DROPS] : []),
    ...(absence ? [replays ? REPLAYS : REPORTS] : []),
    ...(loss ? [SURVIVES, LOSES_NOTHING] : []),
    CLOSES,
  ];
}

function rigOf(here: ProcessBus, there: ProcessBus, faults: BusFaults): AnyRig {
  const { absence = untested, garbage = untested, loss = untested } = faults;
  return {
    ...{ absence, garbage, loss },
    here: placeOn(here),
    there: placeOn(there),
    dropped: async () => there.stats().dropped,
    close: () => there.close(),
    stop: () => Promise.all([here.close(), there.close()]),
  };
}

async function untested(): Promise<void> {}
