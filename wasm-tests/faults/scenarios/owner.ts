import { setTimeout } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Scenario } from '../scenario.ts';
import type { Stage } from '../stage.ts';

/**
 * What `sockets: 'auto'` adds: a request that owns the connection of its isolate, and the trial of
 * writing to others.
 */
export const OWNER: Scenario[] = [
  {
    name: 'the requests that own the shared connections are cancelled in the middle of a burst',
    promise: 'P1, P6',
    streams: 1_000,
    short: 200,
    world: { isDirect: true },
    run: async (stage) => {
      await shared(stage);
      const burst = stage.world.call('publishMany', TOOLS, BURST);
      const since = performance.now();
      for (const owner of stage.listeners.slice(0, 2)) stage.drop(owner);
      await burst;
      stage.publisher.knows('tools');
      await stage.healed(since);
    },
  },
  {
    name: 'the owners of the shared connections leave, half of the streams at a time',
    promise: 'P1, P6',
    streams: 1_000,
    world: { isDirect: true },
    run: async (stage) => {
      await shared(stage);
      for (let left = stage.open.length; left > 60; left = stage.open.length) {
        for (const listener of stage.open.slice(0, left / 2)) stage.drop(listener);
        await stage.healed();
      }
    },
  },
  {
    name: 'the request that owns a shared connection is never resumed',
    promise: 'P1, P6',
    streams: 1_000,
    short: 50,
    // The others look in turns whether it still lives, and it has a second to show that.
    ceiling: { ms: 500, why: 'the others look after 0.5 to 1.5 s, and give it a second to answer' },
    world: { isDirect: true, isKeptApart: true },
    run: async (stage) => {
      await shared(stage);
      const since = performance.now();
      await stage.world.stall(0, '1');
      const [owner] = stage.listeners;
      await stage.healed(since, (listener) => listener !== owner);
      await stage.world.stall(0, '');
      await stage.publisher.publish('tools');
    },
  },
  {
    name: 'the client of the request that owns a shared connection does not read',
    promise: 'P1, P5, P6',
    streams: 100,
    world: { isDirect: true, options: { timeouts: { writeMs: 0 } } },
    run: async (stage) => {
      await shared(stage);
      const [owner] = stage.listeners;
      owner?.pause();
      await stage.world.call('publishMany', TOOLS, 10 * BURST);
      stage.publisher.knows('tools');
      await stage.healed(performance.now(), (listener) => listener !== owner);
      owner?.resume();
    },
  },
  {
    name: 'the shared connections change owners all the time while everything changes',
    promise: 'P1, P6',
    streams: 1_000,
    world: { isDirect: true, writes: 2_000 },
    run: async (stage) => {
      await shared(stage);
      for (let round = 0; round < 20; round += 1) {
        await stage.world.call('publishMany', TOOLS, BURST);
        stage.publisher.knows('tools');
        await stage.publisher.settled(stage.open);
      }
      await stage.healed();
    },
  },
  {
    name: 'the trial is refused: every stream has a socket',
    promise: 'P1, P6',
    losesPublishes: 'a publish meets the reset of the object',
    streams: 1_000,
    world: { isDirect: true, isKeptApart: true, refusesCrossing: true },
    run: async (stage) => {
      const { attached } = await stage.world.busStats();
      expect(attached).toBe(stage.open.length);
      const since = performance.now();
      await stage.world.resetBus();
      await stage.healed(since);
    },
  },
  {
    name: 'writes to other streams are refused after the trial had succeeded',
    promise: 'P1, P6',
    losesPublishes: 'a publish meets the reset of the object',
    streams: 1_000,
    short: 100,
    world: { isDirect: true, isKeptApart: true },
    run: async (stage) => {
      await shared(stage);
      await stage.world.refuse(true);
      await stage.healed();
      const before = (await stage.world.busStats()).attached;
      await stage.enter(20);
      expect((await stage.world.busStats()).attached).toBe(before + 20);
      const since = performance.now();
      await stage.world.resetBus();
      await stage.healed(since);
    },
  },
];

/**
 * The streams of each isolate share a connection, but for a few that the trial may have sent alone.
 */
async function shared({ open, world }: Stage): Promise<void> {
  await setTimeout(500);
  const { attached } = await world.busStats();
  expect(attached).toBeLessThanOrEqual(world.edges.length + open.length / 2);
}

const TOOLS = JSON.stringify({ kind: 'tools_list_changed' });
const BURST = 500;
