import { setTimeout } from 'node:timers/promises';
import { expect } from 'vitest';
import { Listener } from '../clients/listener.ts';
import type { Publisher } from '../clients/publisher.ts';
import type { Scenario } from '../scenario.ts';
import type { Stage } from '../stage.ts';
import { isText, textOf } from '../wire/frames.ts';
import { seeded } from '../wire/rules.ts';
import type { Rule } from '../wire/wire.ts';

/** The number of streams; one socket each costs more. */
const RACES_OF = { auto: { short: 1_000, whole: 100_000 }, each: { short: 300, whole: 10_000 } };
/** The share of streams that may be refused: with `auto`, those of an edge wait for one reply. */
const MOST_REFUSED = { auto: 0.3, each: 0.05 };

const ATTACH_MS = 20_000;
/**
 * Milliseconds until a change must arrive. An edge that may have missed changes follows all its
 * topics again, and delivers again once the bus has replied. If that request or the reply is lost,
 * the edge repeats the request after attachMs.
 */
const SETTLE_MS = ATTACH_MS + 20_000;

/** Streams that open while their topics change, with both values of `sockets`. */
export const RACES: Scenario[] = (['auto', 'each'] as const).map((sockets) => ({
  name: `${sockets}: streams open during changes, with late, lost and doubled requests to the bus`,
  promise: 'P2',
  streams: 0,
  short: 0,
  isBusy: true,
  opens: RACES_OF[sockets],
  refusals: {
    most: (streams) => streams * MOST_REFUSED[sockets],
    why: 'a lost request, or a lost reply, refuses the streams that wait for it after attachMs',
  },
  world: { sockets, options: { timeouts: { attachMs: ATTACH_MS } } },
  run: race,
}));

async function race(stage: Stage): Promise<void> {
  const { opens: races, world } = stage;
  const { wire } = world;
  let lost = 0;
  const lose = (): void => {
    lost += 1;
  };
  wire.faults = { toBus: asking(seeded(1), lose), toEdge: answering(seeded(2), lose) };
  const publish = batched(stage);
  const counts = { begun: 0, ended: 0, unconfirmed: 0, late: 0 };
  // Another race for each whose publish did not begin with the acknowledgment.
  const isDone = () => counts.begun >= races + Math.min(counts.late, races * MAX_LATE);
  const racer = async (): Promise<void> => {
    while (!isDone()) {
      counts.begun += 1;
      await raceOne(stage, counts.begun, publish, counts);
    }
  };
  const atOnce = AT_ONCE[stage.isWhole ? 'whole' : 'short'];
  await Promise.all(Array.from({ length: atOnce }, racer));
  wire.faults = {};
  const refused = counts.begun - stage.passed.streams;
  stage.note = `${lost} frames lost, ${refused} of the streams refused, ${counts.ended} ended`;
  const waiting = world.sockets === 'each' ? 1 : atOnce / world.edges.length;
  expect(refused, 'more streams refused than waited for what was lost').toBeLessThanOrEqual(
    lost * waiting,
  );
  expect(counts.unconfirmed, 'acknowledged before the bus can have confirmed').toBe(0);
  const counted = counts.begun - counts.late;
  expect(counted, 'races without a late publish').toBeGreaterThanOrEqual(races);
}

/**
 * Opens a stream, publishes for it before its acknowledgment and as soon as that is read, and waits
 * for the last state, unless the stream is refused.
 */
async function raceOne(
  stage: Stage,
  place: number,
  publish: (key: string) => Promise<void>,
  counts: { ended: number; unconfirmed: number; late: number },
): Promise<void> {
  const { passed, publisher, world } = stage;
  const key = `task-${place}`;
  // A resource: the state that is published at the acknowledgment would wait for an earlier one.
  const earlier = `race://${place}`;
  const began = performance.now();
  const listener = new Listener(`${world.origins[place % 2]}/mcp`, {
    resourceSubscriptions: [earlier],
    taskIds: [key],
  });
  let published: Promise<void> | undefined;
  listener.onAck = () => {
    published = publishUntilAccepted(publisher, key);
  };
  const before = setTimeout(Math.random() * 300).then(() => publish(earlier));
  await Promise.all([listener.begun, before]);
  if (!listener.isAcknowledged) return stage.dismiss(listener);
  if (listener.acknowledgedAt - began < LEAST_MS) counts.unconfirmed += 1;
  await published;
  if ((publisher.beganAt(key) ?? 0) - listener.acknowledgedAt > PROMPT_MS) counts.late += 1;
  const missing = await publisher.settle([listener], SETTLE_MS);
  if (!listener.isOpen) counts.ended += 1;
  if (!listener.isOpen || missing > 0) passed.missing += 1;
  stage.dismiss(listener);
}

/** Publishes at once, and again until the bus accepts it. */
async function publishUntilAccepted(publisher: Publisher, key: string): Promise<void> {
  while (!(await publisher.publish(key))) await setTimeout(100);
}

/** Publishes the keys of ten milliseconds in one request. */
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

/**
 * Delays every frame of an edge, so that publishes overtake it. Some are very late, lost or
 * doubled, and all are out of order.
 */
function asking(chance: () => number, lose: () => void): Rule {
  return (frame, tunnel) => {
    if (!isText(frame)) return tunnel.toBus(frame);
    const lot = chance();
    if (lot < 0.01) return lose();
    const copies = lot < 0.1 ? 2 : 1;
    const most = lot > 0.97 ? MAX_MS : 2 * LEAST_MS;
    for (let copy = 0; copy < copies; copy += 1) {
      globalThis.setTimeout(() => tunnel.toBus(frame), LEAST_MS + chance() * (most - LEAST_MS));
    }
  };
}

/**
 * Doubles and loses some frames of the bus, except batches: a stream notices a lost batch by its
 * next event, which may never come.
 */
function answering(chance: () => number, lose: () => void): Rule {
  return (frame, tunnel) => {
    const lot = isText(frame) ? chance() : 1;
    if (lot < 0.01 && !textOf(frame).includes('"type":"batch')) return lose();
    tunnel.toEdge(frame);
    if (lot < 0.1) globalThis.setTimeout(() => tunnel.toEdge(frame), chance() * 2 * LEAST_MS);
  };
}

/** Streams that open together; fewer beside other tests, so that publishes get a reply. */
const AT_ONCE = { short: 50, whole: 200 };
/** The share of races that may be repeated: the machine was busy when their publish was due. */
const MAX_LATE = 0.1;
/** Milliseconds from reading an acknowledgment until the publish that races with it has begun. */
const PROMPT_MS = 5;
/** The least delay of a frame to the bus; an earlier acknowledgment has not waited for the bus. */
const LEAST_MS = 100;
/** The greatest delay. */
const MAX_MS = 4_500;
