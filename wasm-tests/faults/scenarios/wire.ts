import { setTimeout } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Scenario } from '../scenario.ts';
import {
  closed,
  delayed,
  dropped,
  duplicated,
  jumped,
  some,
  swapped,
  swappedFar,
  truncated,
  withoutPrevious,
} from '../wire/rules.ts';
import type { Faults, Rule } from '../wire/wire.ts';

/** Edges pause up to 30 s for an overloaded bus, of which P1 includes 1.8 s. */
const OVERLOADED = { ms: 28_200, why: 'edges pause up to 30 s for an overloaded bus' };
/** `busProbeIntervalMs` and a fifth of it until the edge attaches, then `attachMs`. */
const PROBED = {
  ms: 3_200,
  why: 'busProbeIntervalMs (+20 %) until the edge attaches, then attachMs',
};

/** Faults between the processes of edges and the process of the bus. */
export const WIRE: Scenario[] = [
  cut('with 1006', undefined, { short: 100 }),
  cut('with 1009', 1009),
  cut('with 1011', 1011),
  spoilt('some sockets are lost at an event', { toEdge: some(0.02, closed()) }),
  spoilt('some sockets are closed with 1011 at an event', { toEdge: some(0.02, closed(1011)) }),
  spoilt('a fifth of all events is dropped', { toEdge: some(0.2, dropped) }),
  spoilt('a fifth of all events arrives 5 s late', { toEdge: some(0.2, delayed(5_000)) }),
  spoilt('a fifth of all events arrives twice', { toEdge: some(0.2, duplicated) }),
  spoilt('a fifth of all events arrives after the next frame', { toEdge: swapped(0.2) }),
  spoilt('a fifth of all events arrives after the next chosen event', { toEdge: swappedFar(0.2) }),
  spoilt('a fifth of all events is truncated', { toEdge: some(0.2, truncated) }),
  spoilt('the positions of a fifth of all events jump forward by a million', {
    toEdge: some(0.2, jumped(1_000_000)),
  }),
  spoilt('every frame of the bus is late by 200 ms', { toEdge: delayed(200) }),
  unnoticed('sockets stay open and silent', async (stage) => {
    const silent = new Set(stage.world.wire.tunnels);
    const mute = (pass: 'toEdge' | 'toBus'): Rule => {
      return (frame, tunnel) => {
        if (!silent.has(tunnel)) tunnel[pass](frame);
      };
    };
    stage.world.wire.faults = { toEdge: mute('toEdge'), toBus: mute('toBus') };
    await stage.heal();
    for (const tunnel of silent) tunnel.cut();
  }),
  unnoticed('the bus loses sockets without the edges noticing', async (stage) => {
    const forgotten = [...stage.world.wire.tunnels];
    for (const tunnel of forgotten) tunnel.forget();
    await stage.heal();
    // workerd waits without end for a reply to the edge's close, which never comes.
    for (const tunnel of forgotten) tunnel.cut();
  }),
  refusing('500', { status: 500 }),
  refusing('503', { status: 503 }),
  refusing('200 without a socket', { status: 200 }),
  {
    ...refusing('an overloaded error', thrown({ overloaded: true }), 60_000),
    ceiling: OVERLOADED,
  },
  refusing('a retryable error', thrown({ retryable: true })),
  {
    name: 'upgrades hang for 4 s, attachMs 1,000',
    promise: 'P1, P6',
    streams: 1_000,
    ceiling: { ms: 1_000, why: 'an attempt without a reply fails after attachMs' },
    world: { options: { timeouts: { attachMs: 1_000 } } },
    run: async (stage) => {
      const { wire } = stage.world;
      // workerd itself repeats a request on a connection that has carried a publish before.
      await stage.publisher.stop();
      wire.faults = { hangMs: 4_000 };
      wire.cut();
      await setTimeout(2_000);
      wire.faults = {};
      await stage.heal();
      const { attached } = stage;
      await expect.poll(() => wire.tunnels.size, { timeout: 30_000 }).toBe(attached);
      const { upgrades } = wire.counts;
      // The hanging upgrades fail now, long after attachMs. They must not be tried again: there are
      // several of them for each stream.
      await setTimeout(4_000);
      expect(wire.counts.upgrades - upgrades).toBeLessThan(Math.max(attached / 2, 1));
    },
  },
  {
    name: 'a bus that sends no previous positions is lost twice',
    promise: 'P1',
    streams: 300,
    run: async (stage) => {
      stage.world.wire.faults = { toEdge: withoutPrevious };
      stage.world.wire.cut();
      await stage.heal();
      stage.world.wire.cut();
      await stage.heal();
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
      const from = await stage.moment();
      stage.world.wire.cut(code);
      await stage.heal(from);
    },
  };
}

/** A scenario with faults of single frames for ten seconds. */
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
      // A stream notices a gap at its next event, so each stream gets one.
      await stage.heal();
    },
  };
}

function refusing(what: string, upgrade: Faults['upgrade'], ms = 5_000): Scenario {
  return {
    name: `upgrades get ${what} for ${ms / 1_000} s`,
    promise: 'P1, P6',
    streams: 1_000,
    run: async (stage) => {
      stage.world.wire.faults = upgrade === undefined ? {} : { upgrade };
      stage.world.wire.cut();
      await setTimeout(ms);
      stage.world.wire.faults = {};
      await stage.heal();
    },
  };
}

function thrown(members: object): Faults['upgrade'] {
  return { status: 500, headers: { 'x-thrown': JSON.stringify(members) } };
}

/** A scenario in which sockets fail without being closed, at edges with `busProbeIntervalMs`. */
function unnoticed(what: string, run: Scenario['run']): Scenario {
  return {
    name: `${what}, busProbeIntervalMs 1,000`,
    promise: 'P1',
    streams: 1_000,
    isBusy: true,
    ceiling: PROBED,
    world: { options: { busProbeIntervalMs: 1_000, timeouts: { attachMs: 2_000 } } as object },
    run,
  };
}
