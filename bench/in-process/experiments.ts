import type { Entrant, Experiment, Metric } from '../harness/experiment.ts';
import { OURS } from '../harness/experiment.ts';
import type { ServerName } from '../servers/servers.ts';
import { ChildContender, FreshContender, type Task } from './child/contender.ts';
import type { Scenario } from './scenario.ts';

/** The sizes of the experiments. */
export interface Size {
  /** Streams of the comparisons. */
  streams: number;
  /** Events in a round of the comparisons in which every stream receives every event. */
  denseEvents: number;
  /** Values of the axes of the curves. */
  manyStreams: number[];
  uris: number[];
  ids: number[];
  percent: number[];
  /** Streams that receive a targeted event, and targeted events in a round of the curve. */
  targeted: number;
  targetedEvents: number;
  /** Warm-up rounds of targeted events: the runtime compiles the code for each event late. */
  targetedWarmUps: number;
  rounds: number;
  /** Rounds of the comparisons in which every stream receives every event. */
  denseRounds: number;
}

/** `full` for results, `quick` to see that everything runs, `check` for the lane `bench`. */
export const SIZES: Record<'full' | 'quick' | 'check', Size> = {
  full: {
    streams: 10_000,
    manyStreams: [1_000, 3_000, 10_000, 30_000, 100_000],
    uris: [1, 4, 16, 64, 256],
    ids: [1, 10, 100, 1_000, 10_000],
    percent: [0, 1, 10, 50, 100],
    ...{ targeted: 100, targetedEvents: 400, targetedWarmUps: 8 },
    ...{ denseEvents: 16, rounds: 7, denseRounds: 7 },
  },
  quick: {
    streams: 2_000,
    manyStreams: [500, 2_000, 8_000],
    uris: [1, 16, 256],
    ids: [1, 100, 2_000],
    percent: [0, 1, 100],
    ...{ targeted: 20, targetedEvents: 100, targetedWarmUps: 2 },
    ...{ denseEvents: 16, rounds: 3, denseRounds: 3 },
  },
  // 2,000 streams fit into the cache of a core. With 4,000, other work on the machine doubled our
  // cost. Rounds are short, because other work on the machine leaves a long one undisturbed less
  // often.
  check: {
    ...{ streams: 2_000, manyStreams: [1_000, 10_000], uris: [], ids: [], percent: [] },
    ...{ targeted: 20, targetedEvents: 400, targetedWarmUps: 8 },
    ...{ denseEvents: 4, rounds: 30, denseRounds: 120 },
  },
};

/** All experiments in process. */
export function inProcess(size: Size): Experiment[] {
  return [...comparisons(size), ...curves(size), ...costs(size), ...ofEvents(size)];
}

function comparisons(size: Size): Experiment[] {
  const { streams, rounds, targetedWarmUps } = size;
  const dense = { streams, ids: FEW_IDS, uris: 16, matching: streams, events: size.denseEvents };
  const rates = { metrics: RATES, warmUps: Math.ceil(48 / dense.events), rounds: size.denseRounds };
  const targeted = { streams, ids: FEW_IDS, uris: 1, matching: streams / 100, events: 1_000 };
  return [
    {
      ...{ ...rates, name: 'dense', proves: ['S1'] },
      title: `every one of ${streams} streams receives every event, ${FEW_IDS} distinct ids`,
      entrants: fanOutEntrants(ALL, () => dense),
    },
    {
      ...{ ...rates, name: 'distinct-ids', proves: ['S2'] },
      title: `every one of ${streams} streams receives every event, every id different`,
      entrants: fanOutEntrants(ALL, () => ({ ...dense, ids: streams })),
    },
    {
      ...{ name: 'one-percent', proves: ['S3'], metrics: TIMES, warmUps: targetedWarmUps, rounds },
      title: `${streams / 100} of ${streams} streams receive each event`,
      entrants: fanOutEntrants(ALL, () => targeted),
    },
  ];
}

function curves(size: Size): Experiment[] {
  const { streams, manyStreams, uris, ids, percent, rounds } = size;
  const { targeted: matching, targetedEvents: events, targetedWarmUps: warmUps } = size;
  const few = { metrics: TIMES, warmUps: 2, rounds: Math.min(rounds, 5) };
  const scenario = { streams, ids: FEW_IDS, uris: 1, matching: streams, events: 4 };
  return [
    {
      // Not a few rounds: the lane `bench` compares the cheapest one of each size.
      ...{ ...few, name: 'targeted-by-streams', proves: ['S3'], warmUps, rounds },
      title: `${matching} streams receive each event, more and more others do not`,
      axis: { label: 'streams', values: manyStreams },
      entrants: fanOutEntrants(ALL, (x) => ({ ...scenario, streams: x, matching, events })),
    },
    {
      ...{ ...few, metrics: RATES, name: 'dense-by-streams', proves: [] },
      title: 'every stream receives every event',
      axis: { label: 'streams', values: manyStreams },
      entrants: fanOutEntrants(ALL, (x) => ({
        ...scenario,
        streams: x,
        matching: x,
        events: x > 10_000 ? 2 : 8,
      })),
    },
    {
      ...{ ...few, metrics: RATES, name: 'dense-by-ids', proves: [] },
      title: `${streams} streams receive every event, more and more distinct ids`,
      axis: { label: 'distinct ids', values: ids },
      entrants: fanOutEntrants(ALL, (x) => ({ ...scenario, ids: x })),
    },
    {
      ...{ ...few, metrics: RATES, name: 'dense-by-uris', proves: [] },
      title: '1000 streams receive every event, each watches more and more URIs',
      axis: { label: 'URIs a stream', values: uris },
      entrants: fanOutEntrants(ALL, (x) => ({
        ...scenario,
        streams: 1_000,
        matching: 1_000,
        uris: x,
        events: 64,
      })),
    },
    {
      ...{ ...few, name: 'by-matching', proves: [] },
      title: `more and more of ${streams} streams receive each event`,
      axis: { label: '% of the streams', values: percent },
      entrants: fanOutEntrants(ALL, (x) => ({
        ...scenario,
        matching: (streams * x) / 100,
        events: x > 10 ? 8 : 40,
      })),
    },
  ];
}

function costs({ streams, manyStreams, uris, percent, rounds }: Size): Experiment[] {
  const idle = { streams, ids: FEW_IDS, uris: 1, matching: streams, events: 0 };
  return [
    {
      ...{
        name: 'heap',
        proves: ['S4'],
        metrics: [HEAP, ...PARTS_OF_HEAP, RESIDENT],
        warmUps: 0,
        // A heap hardly varies.
        rounds: Math.min(Math.ceil(rounds / 3), 3),
      },
      title: `${streams} idle streams, each with a reader`,
      entrants: ALL.map((name) => entrant('heap', name, () => idle)),
    },
    {
      ...{
        name: 'attach-by-streams',
        proves: [],
        metrics: [ATTACH],
        warmUps: 2,
        rounds: Math.min(rounds, 5),
      },
      title: '500 more streams are opened beside more and more others',
      axis: { label: 'streams', values: manyStreams },
      entrants: PEERS.map((name) =>
        entrant('attach', name, (x) => ({ ...idle, streams: x, matching: x })),
      ),
    },
    {
      ...{
        name: 'attach-by-uris',
        proves: [],
        metrics: [ATTACH],
        warmUps: 2,
        rounds: Math.min(rounds, 5),
      },
      title: '500 more streams are opened beside 500 others, each with more and more URIs',
      axis: { label: 'URIs a stream', values: uris },
      entrants: PEERS.map((name) =>
        entrant('attach', name, (x) => ({ ...idle, streams: 500, matching: 500, uris: x })),
      ),
    },
    {
      ...{
        name: 'close-by-unread',
        proves: [],
        metrics: [CLOSE],
        warmUps: 1,
        rounds: Math.min(rounds, 5),
      },
      title:
        '1000 streams are closed, of which more and more have a pending change that is not read',
      axis: { label: '% of the streams', values: percent },
      entrants: PEERS.map((name) =>
        entrant('close', name, (x) => ({ ...idle, streams: 1_000, matching: 10 * x })),
      ),
    },
  ];
}

function ofEvents({ rounds, targetedWarmUps: warmUps }: Size): Experiment[] {
  const scenario = { streams: 1_000, ids: FEW_IDS, uris: 1, matching: 1_000, events: 40 };
  return [
    {
      ...{ name: 'event-fan-out', proves: ['S13'], warmUps, rounds },
      metrics: [CPU, HANDED_OVER, FRAME],
      title: `an event of MCP Events, or a cue, for every one of ${scenario.streams} streams`,
      entrants: [
        entrant('counted-fan-out', 'events', () => scenario),
        {
          ...entrant('counted-fan-out', 'listen', () => scenario),
          name: 'a cue',
          includes:
            'the same server: notify.resourceUpdated to as many listens, ' +
            'whose frames have about half the bytes',
        },
        {
          ...entrant('counted-fan-out', 'listen', () => ({ ...scenario, padding: EVENT_PADDING })),
          name: 'a cue as long as the event',
          includes: 'the same, with a URI that makes the frames as long as those of the event',
        },
      ],
    },
  ];
}

function fanOutEntrants(names: ServerName[], scenario: (x: number) => Scenario): Entrant[] {
  return names.map((name) => entrant('fan-out', name, scenario));
}

function entrant(
  kind: Task['kind'],
  server: ServerName,
  scenario: (x: number) => Scenario,
): Entrant {
  const { name, includes } = CONTENDERS[server];
  return {
    name,
    includes,
    enter: async (x) => {
      const task = { kind, server, scenario: scenario(x) };
      return kind === 'heap' ? new FreshContender(task) : ChildContender.start(task);
    },
  };
}

/** Bytes that a frame of an event has beyond one of a cue, see the metric `bytes`. */
const EVENT_PADDING = 154;

/** Distinct ids of a dense fan-out: each of the common clients begins with another id. */
const FEW_IDS = 4;

const ALL: ServerName[] = ['listen', 'sdk', 'enqueue'];
const PEERS: ServerName[] = ['listen', 'sdk'];

const CONTENDERS: Record<ServerName, { name: string; includes: string }> = {
  listen: {
    name: OURS,
    includes:
      'createListenHandler and InMemoryBus: notify.resourceUpdated, match, frame, ' +
      'enqueue on the response body',
  },
  events: {
    name: OURS,
    includes:
      'createListenHandler and InMemoryBus with MCP Events: notify.event, log, cue, read, match, ' +
      'frame, enqueue on the response body',
  },
  sdk: {
    name: 'TypeScript SDK',
    includes:
      'createMcpHandler and its InMemoryServerEventBus: notify.resourceUpdated, match, frame, ' +
      'enqueue likewise',
  },
  enqueue: {
    name: 'enqueue only',
    includes:
      'the limit: a frame encoded beforehand is enqueued on the body of each matching stream, ' +
      'and nothing else is done',
  },
};

const CPU: Metric = {
  id: 'cpu',
  title: 'processor, handed over',
  unit: 'us/event',
  better: 'less',
};
const RATES: [Metric, Metric, Metric] = [
  { id: 'publishRate', title: 'handed over', unit: 'M frames/s', better: 'more' },
  { id: 'deliveredRate', title: 'read', unit: 'M frames/s', better: 'more' },
  CPU,
];
const HANDED_OVER: Metric = {
  id: 'publish',
  title: 'handed over',
  unit: 'us/event',
  better: 'less',
};
const FRAME: Metric = { id: 'bytes', title: 'a frame', unit: 'bytes', better: 'less' };
const TIMES: [Metric, Metric, Metric] = [
  HANDED_OVER,
  { id: 'delivered', title: 'read', unit: 'us/event', better: 'less' },
  CPU,
];
const HEAP: Metric = { id: 'heap', title: 'heap', unit: 'bytes/stream', better: 'less' };
const PARTS_OF_HEAP: Metric[] = [
  { ...HEAP, id: 'javascript', title: 'heap, JavaScript alone' },
  { ...HEAP, id: 'buffers', title: 'heap, buffers alone' },
  { ...HEAP, id: 'wasm', title: 'heap, WebAssembly alone' },
];
const RESIDENT: Metric = {
  id: 'resident',
  title: 'resident',
  unit: 'bytes/stream',
  better: 'less',
};
const CLOSE: Metric = { id: 'close', title: 'close', unit: 'ms', better: 'less' };
const ATTACH: Metric = { id: 'attach', title: 'attach', unit: 'us/stream', better: 'less' };
