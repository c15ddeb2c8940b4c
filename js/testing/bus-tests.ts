import type { ProcessBus } from '../bus/broker-bus.js';
import { placeOn } from './place.js';
import {
  CLOSES,
  COUNTS,
  DROPS,
  EVERY,
  LOSES_NOTHING,
  REPLAYS,
  REPORTS,
  SURVIVES,
} from './promises.js';
import type { BusTestOn, ClosableRig, CountingRig, CutRig, MortalRig, OpenRig } from './rig.js';

/** A test of one promise of a bus. */
export interface BusTest {
  /** The promise, as a sentence that begins with the name of the bus. */
  name: string;
  /**
   * Rejects if the bus does not keep the promise. Needs a timeout of at least 60,000 milliseconds.
   */
  run: () => Promise<void>;
}

/**
 * Faults to inject into a bus under test, and what it can do. Promises about omitted faults are not
 * tested.
 */
export interface BusFaults {
  /**
   * Whether the bus has the option `wanted`, with which it counts the streams of callers.
   *
   * @default false
   */
  counts?: boolean;
  /**
   * Publishes a text through the broker of the bus, bypassing the bus. Resolves with false if the
   * broker refuses such a text, for example because of its length.
   */
  garbage?: (text: string) => Promise<unknown>;
  /** Disconnects the second bus from the broker until `meanwhile` has resolved. */
  absence?: (meanwhile: () => Promise<void>) => Promise<void>;
  /**
   * Whether the broker keeps events for a bus that was disconnected.
   *
   * @default false
   */
  replays?: boolean;
  /** Kills the broker, runs `meanwhile`, and starts the broker again without any stored data. */
  loss?: (meanwhile: () => Promise<void>) => Promise<void>;
}

/**
 * Returns tests of what every bus promises. Each test calls `makeBus` twice, to
 * simulate two processes that share the bus, and closes both buses at its end.
 *
 * @example
 * ```ts
 * import { test } from 'vitest';
 * import { busTests } from 'mcp-listen/testing';
 *
 * const tests = busTests('postgresBus', () => postgresBus(url));
 * for (const { name, run } of tests) test(name, run, 60_000);
 * ```
 */
export function busTests(
  name: string,
  makeBus: () => ProcessBus | Promise<ProcessBus>,
  faults: BusFaults = {},
): BusTest[] {
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

/**
 * A rig with every fault; {@link promisedBy} selects the promises for the faults that are
 * available.
 */
type AnyRig = CountingRig & OpenRig & CutRig & MortalRig & ClosableRig;

function promisedBy(faults: BusFaults): BusTestOn<AnyRig>[] {
  const { absence, counts = false, garbage, loss, replays = false } = faults;
  return [
    ...EVERY,
    ...(counts ? [COUNTS] : []),
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
