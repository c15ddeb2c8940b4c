import { expect } from 'vitest';
import type { Scenario } from '../scenario.ts';

/** Faults of shared connections: their owners, and the write probe. */
export const OWNER: Scenario[] = [
  {
    name: 'the owners of the shared connections are cancelled during a burst',
    promise: 'P1, P6',
    streams: 1_000,
    short: 200,
    world: { isDirect: true },
    run: async (stage) => {
      const from = await stage.moment();
      const burst = stage.world.call('publishMany', TOOLS, BURST);
      for (const owner of stage.listeners.slice(0, 2)) stage.drop(owner);
      await burst;
      stage.publisher.knows('tools');
      await stage.heal(from);
    },
  },
  {
    name: 'half of the streams leave at a time, owners of the shared connections first',
    promise: 'P1, P6',
    streams: 1_000,
    world: { isDirect: true },
    run: async (stage) => {
      for (let left = stage.open.length; left > 60; left = stage.open.length) {
        for (const listener of stage.open.slice(0, left / 2)) stage.drop(listener);
        await stage.heal();
      }
    },
  },
  {
    name: 'the owner of a shared connection is never resumed',
    promise: 'P1, P6',
    streams: 1_000,
    short: 50,
    ceiling: {
      ms: 500,
      why: 'other requests check the owner after 0.5 to 1.5 s, and wait a second',
    },
    world: { isDirect: true, isKeptApart: true },
    run: async (stage) => {
      const from = await stage.moment();
      await stage.world.stall(0, '1');
      const [owner] = stage.listeners;
      await stage.heal(from, (listener) => listener !== owner);
      await stage.world.stall(0, '');
      await stage.publisher.publish('tools');
    },
  },
  {
    name: 'the client of the owner of a shared connection does not read',
    promise: 'P1, P5, P6',
    streams: 100,
    world: { isDirect: true, options: { timeouts: { writeMs: 0 } } },
    run: async (stage) => {
      const [owner] = stage.listeners;
      owner?.pause();
      await stage.world.call('publishMany', TOOLS, 10 * BURST);
      stage.publisher.knows('tools');
      await stage.heal(undefined, (listener) => listener !== owner);
      owner?.resume();
    },
  },
  {
    name: 'the shared connections change their owners repeatedly during changes',
    promise: 'P1, P6',
    streams: 1_000,
    world: { isDirect: true, writes: 2_000 },
    run: async (stage) => {
      for (let round = 0; round < 20; round += 1) {
        await stage.world.call('publishMany', TOOLS, BURST);
        stage.publisher.knows('tools');
        await stage.publisher.settle(stage.open);
      }
      await stage.heal();
    },
  },
  {
    name: 'the write probe fails, and every stream has its own socket',
    promise: 'P1, P6',
    losesPublishes: 'a publish may coincide with the reset of the object',
    streams: 1_000,
    world: { isDirect: true, isKeptApart: true, refusesCrossing: true },
    run: async (stage) => {
      const { attached } = await stage.world.busStats();
      expect(attached).toBe(stage.open.length);
      const from = await stage.moment();
      await stage.world.resetBus();
      await stage.heal(from);
    },
  },
  {
    name: 'writes to other streams are refused after the write probe succeeded',
    promise: 'P1, P6',
    losesPublishes: 'a publish may coincide with the reset of the object',
    streams: 1_000,
    short: 100,
    world: { isDirect: true, isKeptApart: true },
    run: async (stage) => {
      await stage.world.refuse(true);
      await stage.heal();
      const before = (await stage.world.busStats()).attached;
      await stage.addStreams(20);
      expect((await stage.world.busStats()).attached).toBe(before + 20);
      const from = await stage.moment();
      await stage.world.resetBus();
      await stage.heal(from);
    },
  },
];

const TOOLS = JSON.stringify({ kind: 'tools_list_changed' });
const BURST = 500;
