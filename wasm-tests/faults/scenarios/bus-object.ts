import { setTimeout } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Scenario } from '../scenario.ts';
import { type Moment, ownUri, type Stage } from '../stage.ts';

/** Faults of the bus object within its process. */
export const BUS_OBJECT: Scenario[] = [
  {
    name: 'the object is reset while events are published',
    promise: 'P1, P6',
    losesPublishes: 'a publish may coincide with the reset of the object',
    streams: 1_000,
    short: 200,
    world: { isDirect: true },
    run: async (stage) => {
      await setTimeout(1_000);
      const from = await stage.moment();
      await stage.world.resetBus();
      await stage.heal(from);
    },
  },
  {
    name: 'ten resets of the object in five seconds',
    promise: 'P1, P6',
    losesPublishes: 'a publish may coincide with the reset of the object',
    streams: 1_000,
    world: { isDirect: true },
    run: async (stage) => {
      let from: Moment | undefined;
      for (let round = 0; round < 10; round += 1) {
        if (round > 0) await setTimeout(500);
        from = await stage.moment();
        await stage.world.resetBus();
      }
      await stage.heal(from);
    },
  },
  {
    name: 'the object is reset between log and sockets: events are logged and not sent',
    promise: 'P1, P7',
    losesPublishes: 'a publish may coincide with the reset of the object',
    streams: 1_000,
    world: { isDirect: true },
    run: async (stage) => {
      await publishSwallowed(stage);
      const from = await stage.moment();
      await stage.world.resetBus();
      await stage.heal(from);
    },
  },
  {
    name: 'frames are lost in the object while its sockets stay open',
    promise: 'P1',
    streams: 1_000,
    world: { isDirect: true },
    run: async (stage) => {
      await publishSwallowed(stage);
      for (let place = 0; place < stage.listeners.length; place += 50)
        await stage.publisher.publish(...own(place, 50));
    },
  },
  {
    name: 'a publish to an object that hibernates',
    promise: 'P7',
    streams: 1_000,
    short: 20,
    world: { isDirect: true },
    run: async (stage) => {
      await stage.publisher.stop();
      const times = stage.isWhole ? ['first', 'second'] : ['first'];
      for (const time of times) expect(await stage.hibernates(), `the ${time} time`).toBe(true);
    },
  },
  {
    name: 'a hundred publishes at once while the object wakes',
    promise: 'P1, P7',
    streams: 1_000,
    world: { isDirect: true },
    run: async (stage) => {
      await stage.publisher.stop();
      await stage.idle();
      await Promise.all(
        Array.from({ length: 100 }, (_, place) => stage.publisher.publish('tools', ownUri(place))),
      );
    },
  },
  {
    name: 'the stored filters of some sockets are unreadable when the object wakes',
    promise: 'P1',
    streams: 200,
    world: { isDirect: true },
    run: async (stage) => {
      await stage.publisher.stop();
      await stage.world.call('spoil', ownUri(7));
      await stage.idle();
      await stage.heal();
      await stage.publisher.publish(ownUri(7));
    },
  },
  {
    name: '9,000 events are published while the edges are away',
    promise: 'P1, P6',
    streams: 1_000,
    run: (stage) => cutOff(stage, 9_000),
  },
  {
    name: 'more events than the log holds are published while the edges are away',
    promise: 'P1',
    streams: 1_000,
    hasTasks: false,
    run: (stage) => cutOff(stage, 12_000),
  },
];

/** Cuts the edges off, and publishes a number of events meanwhile. */
async function cutOff(stage: Stage, events: number): Promise<void> {
  const { publisher, world } = stage;
  world.wire.faults = { upgrade: { status: 503 } };
  world.wire.cut();
  await setTimeout(500);
  await publisher.stop();
  await world.call(
    'publishMany',
    JSON.stringify({ kind: 'resource_updated', uri: 'note://unwatched' }),
    events,
  );
  world.wire.faults = {};
  await stage.heal();
}

/** Publishes events that the object logs and does not send. */
async function publishSwallowed({ publisher, world }: Stage): Promise<void> {
  await setTimeout(500);
  await world.call('swallow', true);
  await publisher.publish('tools', ...own(0, 200));
  await publisher.stop();
  await world.call('swallow', false);
}

function own(from: number, count: number): string[] {
  return Array.from({ length: count }, (_, place) => ownUri(from + place));
}
