import { setTimeout } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Scenario } from '../scenario.ts';
import {
  closed,
  delayed,
  dropped,
  duplicated,
  forgetfulBusSays,
  some,
  swapped,
  swappedFar,
  truncated,
} from '../wire/rules.ts';
import type { Faults, Rule } from '../wire/wire.ts';

/**
 * A bus that says it is overloaded is left alone for up to 30 s, and P1 has 1.8 s of these already.
 */
const OVERLOADED = { ms: 28_200, why: 'an overloaded bus is left alone for up to 30 s' };
/**
 * `busProbeIntervalMs` and a fifth of it until the edge asks, and `attachMs` until it gives up the
 * socket.
 */
const VERIFIED = {
  ms: 3_200,
  why: 'busProbeIntervalMs (+20 %) until the edge asks, then attachMs',
};

/** What happens between the processes of edges and the process of the bus. */
export const WIRE: Scenario[] = [
  cut('with 1006', undefined, { short: 100 }),
  cut('with 1009', 1009),
  cut('with 1011', 1011),
  spoilt('some sockets are lost at an event', { toEdge: some(0.02, closed()) }),
  spoilt('some sockets are closed with 1011 at an event', { toEdge: some(0.02, closed(1011)) }),
  spoilt('a fifth of all events is dropped', { toEdge: some(0.2, dropped) }),
  spoilt('a fifth of all events comes 5 s later', { toEdge: some(0.2, delayed(5_000)) }),
  spoilt('a fifth of all events comes twice', { toEdge: some(0.2, duplicated) }),
  spoilt('a fifth of all events comes after the next one', { toEdge: swapped(0.2) }),
  spoilt('a fifth of all events comes after the next chosen one', { toEdge: swappedFar(0.2) }),
  spoilt('a fifth of all events is cut in the middle', { toEdge: some(0.2, truncated) }),
  spoilt('every frame of the bus is late by 200 ms', { toEdge: delayed(200) }),
  {
    name: 'sockets stay open and silent, busProbeIntervalMs 1,000',
    promise: 'P1',
    streams: 1_000,
    isBusy: true,
    ceiling: VERIFIED,
    world: verifying(),
    run: async (stage) => {
      const silent = new Set(stage.world.wire.tunnels);
      const mute = (pass: 'toEdge' | 'toBus'): Rule => {
        return (frame, tunnel) => {
          if (!silent.has(tunnel)) tunnel[pass](frame);
        };
      };
      stage.world.wire.faults = { toEdge: mute('toEdge'), toBus: mute('toBus') };
      await stage.healed();
      for (const tunnel of silent) tunnel.cut();
    },
  },
  {
    name: 'the bus forgets sockets that edges believe in, busProbeIntervalMs 1,000',
    promise: 'P1',
    streams: 1_000,
    isBusy: true,
    ceiling: VERIFIED,
    world: verifying(),
    run: async (stage) => {
      const forgotten = [...stage.world.wire.tunnels];
      for (const tunnel of forgotten) tunnel.forget();
      await stage.healed();
      // Nobody will ever answer the edge's close on them, and workerd waits for that without end.
      for (const tunnel of forgotten) tunnel.cut();
    },
  },
  refusing('500', { status: 500 }),
  refusing('503', { status: 503 }),
  refusing('200 without a socket', { status: 200 }),
  {
    ...refusing('an error that says overloaded', thrown({ overloaded: true }), 60_000),
    ceiling: OVERLOADED,
  },
  refusing('an error that says retryable', thrown({ retryable: true })),
  {
    name: 'upgrades hang for 4 s, attachMs 1,000',
    promise: 'P1, P6',
    streams: 1_000,
    ceiling: { ms: 1_000, why: 'an attempt that is not answered fails after attachMs' },
    world: { options: { timeouts: { attachMs: 1_000 } } },
    run: async (stage) => {
      const { wire } = stage.world;
      // On a connection that has carried a publish before, workerd itself would ask a second time.
      await stage.publisher.stop();
      wire.faults = { hangMs: 4_000 };
      wire.cut();
      await setTimeout(2_000);
      wire.faults = {};
      await stage.healed();
      const { attached } = stage;
      await expect.poll(() => wire.tunnels.size, { timeout: 30_000 }).toBe(attached);
      const { upgrades } = wire.counts;
      // What hung fails now, long after it was given up, and is not to be tried again: it is more
      // than one attempt a stream.
      await setTimeout(4_000);
      expect(wire.counts.upgrades - upgrades).toBeLessThan(Math.max(attached / 2, 1));
    },
  },
  {
    name: 'edges meet a bus that has forgotten what it sent, and lose it',
    promise: 'P1',
    streams: 300,
    run: async (stage) => {
      stage.world.wire.faults = { toEdge: forgetfulBusSays };
      stage.world.wire.cut();
      await stage.healed();
      stage.world.wire.cut();
      await stage.healed();
    },
  },
];

function cut(how: string, code: number | undefined, short: { short?: number } = {}): Scenario {
  return {
    name: `all sockets are closed ${how}`,
    promise: 'P1, P6',
    streams: 1_000,
    ...short,
    run: async (stage) => {
      await setTimeout(1_000);
      const since = performance.now();
      stage.world.wire.cut(code);
      await stage.healed(since);
    },
  };
}

/** Faults of single frames for ten seconds; then the wire is as it should be. */
function spoilt(name: string, faults: Faults, short: { short?: number } = {}): Scenario {
  return {
    name,
    promise: 'P1',
    streams: 1_000,
    ...short,
    run: async (stage) => {
      stage.world.wire.faults = faults;
      await setTimeout(stage.isWhole ? 10_000 : 3_000);
      stage.world.wire.faults = {};
      // A gap is found at the next event of the same stream, so each one gets an event.
      await stage.healed();
    },
  };
}

function refusing(what: string, upgrade: Faults['upgrade'], ms = 5_000): Scenario {
  return {
    name: `upgrades are answered with ${what} for ${ms / 1_000} s`,
    promise: 'P1, P6',
    streams: 1_000,
    run: async (stage) => {
      stage.world.wire.faults = upgrade === undefined ? {} : { upgrade };
      stage.world.wire.cut();
      await setTimeout(ms);
      stage.world.wire.faults = {};
      await stage.healed();
    },
  };
}

function thrown(members: object): Faults['upgrade'] {
  return { status: 500, headers: { 'x-thrown': JSON.stringify(members) } };
}

/** An edge that asks whether its bus is still there. */
function verifying() {
  return { options: { busProbeIntervalMs: 1_000, timeouts: { attachMs: 2_000 } } as object };
}
