import { setTimeout } from 'node:timers/promises';
import { expect } from 'vitest';
import { Listener } from '../clients/listener.ts';
import type { Publisher } from '../clients/publisher.ts';
import type { Scenario } from '../scenario.ts';
import type { Stage } from '../stage.ts';
import { isText, textOf } from '../wire/frames.ts';
import { seeded } from '../wire/rules.ts';
import type { Rule } from '../wire/wire.ts';

/** The number of races, without refused streams; one socket each costs more. */
const RACES_OF = { auto: { short: 1_000, whole: 100_000 }, each: { short: 300, whole: 10_000 } };
/** The share of all streams that may be refused: with `auto`, an edge's wait for one reply. */
const MAX_REFUSED = { auto: 0.3, each: 0.05 };
/** That of the race with the default timeouts, in which late requests refuse streams too. */
const MAX_REFUSED_BY_DEFAULT = 0.75;
/** An attachMs that is longer than the delay of any frame. */
const LONG_ATTACH_MS = 20_000;
const SPOILT = 'late, lost and doubled';
const OPENING = { promise: 'P2', streams: 0, short: 0, isBusy: true };

/** Streams that open while their topics change. */
export const RACES: Scenario[] = [
  withLongTimeouts('auto'),
  withLongTimeouts('each'),
  {
    ...OPENING,
    name: 'streams open during changes, with requests to the bus later than the default timeouts',
    opens: { short: 150, whole: 2_000 },
    refusals: {
      most: (races) => refusedBeside(races, MAX_REFUSED_BY_DEFAULT),
      why: 'a late or lost request, or a lost reply, refuses the streams that wait for it',
    },
    run: async (stage) => {
      // A request that follows within attachMs replaces a late one, so many have to be late.
      await race(stage, {
        attachMs: DEFAULT_ATTACH_MS,
        atOnce: 20,
        lateShare: 0.6,
        maxRefused: MAX_REFUSED_BY_DEFAULT,
      });
    },
  },
];

/** Only lost frames refuse streams. */
function withLongTimeouts(sockets: 'auto' | 'each'): Scenario {
  return {
    ...OPENING,
    name: `${sockets}: streams open during changes, with ${SPOILT} requests to the bus`,
    opens: RACES_OF[sockets],
    refusals: {
      most: (races) => refusedBeside(races, MAX_REFUSED[sockets]),
      why: 'a lost request, or a lost reply, refuses the streams that wait for it after attachMs',
    },
    world: { sockets, options: { timeouts: { attachMs: LONG_ATTACH_MS } } },
    run: raceWithLongTimeouts,
  };
}

async function raceWithLongTimeouts(stage: Stage): Promise<void> {
  const { world } = stage;
  const atOnce = AT_ONCE[stage.isWhole ? 'whole' : 'short'];
  const { lost, refused } = await race(stage, {
    attachMs: LONG_ATTACH_MS,
    atOnce,
    lateShare: 0.03,
    maxRefused: MAX_REFUSED[world.sockets === 'each' ? 'each' : 'auto'],
  });
  const waiting = world.sockets === 'each' ? 1 : atOnce / world.edges.length;
  expect(refused, 'more streams refused than waited for what was lost').toBeLessThanOrEqual(
    lost * waiting,
  );
}

/** How many streams may be refused beside these races, if they may be this share of all streams. */
function refusedBeside(races: number, share: number): number {
  return (races * share) / (1 - share);
}

/** How a race is run. */
interface Race {
  attachMs: number;
  /** Streams that open together. */
  atOnce: number;
  /** The share of the frames to the bus that are late by up to {@link MAX_MS}. */
  lateShare: number;
  /** The share of streams that may be refused. */
  maxRefused: number;
}

/** Opens streams until enough of them raced with a publish, and returns what was counted. */
async function race(
  stage: Stage,
  { attachMs, atOnce, lateShare, maxRefused }: Race,
): Promise<{ lost: number; refused: number }> {
  const { opens: races, passed, world } = stage;
  const { wire } = world;
  let lost = 0;
  const lose = (): void => {
    lost += 1;
  };
  wire.faults = {
    toBus: asking(seeded(1), lose, lateShare),
    toEdge: answering(seeded(2), lose),
  };
  const publish = batched(stage);
  const counts = { begun: 0, ended: 0, unclean: 0, unconfirmed: 0, late: 0 };
  const settleMs = attachMs + MORE_MS;
  // A refused stream does not race, nor does one whose publish began after the acknowledgment.
  const raced = () => passed.streams - counts.late;
  const most = races * (1 + MAX_LATE) + refusedBeside(races, maxRefused);
  // A stream that has missed a change waits for it for long: one is enough.
  const isDone = () => raced() >= races || counts.begun >= most || passed.missing > 0;
  const racer = async (): Promise<void> => {
    while (!isDone()) {
      counts.begun += 1;
      await raceOne(stage, counts.begun, { publish, settleMs, counts });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, racer));
  wire.faults = {};
  const refused = counts.begun - passed.streams;
  stage.note =
    `${raced()} races, ${lost} frames lost, ${refused} of ${counts.begun} streams refused, ` +
    `${counts.ended} ended`;
  expect(counts.unclean, 'refused without 503 and Retry-After').toBe(0);
  expect(counts.unconfirmed, 'acknowledged before the bus can have confirmed').toBe(0);
  expect(raced(), 'races without a late publish').toBeGreaterThanOrEqual(races);
  return { lost, refused };
}

/**
 * Opens a stream, publishes for it before its acknowledgment and as soon as that is read, and waits
 * for the last state, unless the stream is refused.
 */
async function raceOne(
  stage: Stage,
  place: number,
  { publish, settleMs, counts }: Racing,
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
  if (!listener.isAcknowledged) {
    if (listener.status !== 503 || !(Number(listener.retryAfter) > 0)) counts.unclean += 1;
    return stage.dismiss(listener);
  }
  if (listener.acknowledgedAt - began < LEAST_MS) counts.unconfirmed += 1;
  await published;
  if ((publisher.beganAt(key) ?? 0) - listener.acknowledgedAt > PROMPT_MS) counts.late += 1;
  const missing = await publisher.settle([listener], settleMs);
  if (!listener.isOpen) counts.ended += 1;
  if (!listener.isOpen || missing > 0) passed.missing += 1;
  stage.dismiss(listener);
}

/** What all races of a scenario share. */
interface Racing {
  publish: (key: string) => Promise<void>;
  settleMs: number;
  counts: { ended: number; unclean: number; unconfirmed: number; late: number };
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
function asking(chance: () => number, lose: () => void, lateShare: number): Rule {
  return (frame, tunnel) => {
    if (!isText(frame)) return tunnel.toBus(frame);
    const lot = chance();
    if (lot < 0.01) return lose();
    const copies = lot < 0.1 ? 2 : 1;
    const most = lot > 1 - lateShare ? MAX_MS : 2 * LEAST_MS;
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

/** The default of attachMs. */
const DEFAULT_ATTACH_MS = 2_900;
/**
 * Milliseconds until a change must arrive, beyond attachMs. An edge that may have missed changes
 * follows all its topics again, and delivers again once the bus has replied. If that request or the
 * reply is lost, the edge repeats the request after attachMs.
 */
const MORE_MS = 20_000;
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
