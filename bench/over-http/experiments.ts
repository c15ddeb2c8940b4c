import type { Contender, Entrant, Experiment, Metric } from '../harness/experiment.ts';
import {
  ALONE,
  AWAY,
  type Candidate,
  ECHO,
  entrants,
  IN_EACH,
  IN_FOUR,
  LIMIT,
  LOCAL,
  MEMORY,
  MERGING_RELAY,
  MERGING_RELAY_IN_FOUR,
  NODE_LIMIT,
  OPENERS,
  PEERS,
  PROCESSES,
  sharded,
  TRIP,
  WORKERS,
  WORKERS_AND_MEMORY,
} from './candidates.ts';
import { freshly } from './freshly.ts';
import { Acknowledging } from './measures/acknowledging.ts';
import { Burst } from './measures/burst.ts';
import { FirstAcknowledging, WakingAcknowledging } from './measures/cold-acknowledging.ts';
import { Delivery, type Load } from './measures/delivery.ts';
import { Healing } from './measures/healing.ts';
import { Latency } from './measures/latency.ts';
import { Opening } from './measures/opening.ts';
import { Refusing } from './measures/refusing.ts';
import { Residence } from './measures/residence.ts';
import { RoundTrip } from './measures/round-trip.ts';
import { Waking } from './measures/waking.ts';
import type { LoadServer } from './servers/server.ts';
import { withShards } from './with-shards.ts';

/** The sizes of the experiments. */
export interface Size {
  streams: number;
  /** Values of the axes of the curves. */
  manyStreams: number[];
  uris: number[];
  shards: number[];
  /** Publishes of one round of latencies; of fewer than 100, the 99th percentile is the slowest. */
  publishes: number;
  /** The same, for curves. */
  fewPublishes: number;
  burst: { streams: number; requests: number };
  rounds: number;
}

/** `full` for results, `quick` to see within minutes that everything runs. */
export const SIZES: Record<'full' | 'quick', Size> = {
  full: {
    streams: 1_000,
    manyStreams: [100, 300, 1_000, 3_000],
    uris: [1, 4, 16, 64, 256],
    shards: [1, 2, 4, 8],
    ...{ publishes: 200, fewPublishes: 30 },
    burst: { streams: 50, requests: 100 },
    rounds: 5,
  },
  quick: {
    streams: 100,
    manyStreams: [50, 200],
    uris: [1, 256],
    shards: [1, 4],
    ...{ publishes: 20, fewPublishes: 10 },
    burst: { streams: 5, requests: 10 },
    rounds: 3,
  },
};

/** All experiments over the network. */
export function overHttp(size: Size): Experiment[] {
  return [
    ...comparisons(size),
    ...opens(size),
    ...acknowledgments(size),
    ...costs(size),
    ...growth(size),
    ...recovery(size),
    ...shards(size),
  ];
}

function comparisons({ streams, publishes, burst, rounds }: Size): Experiment[] {
  const load = { streams, uris: 20, waves: 3 };
  const frames = { metrics: [RATE, CPU_FRAME] as [Metric, Metric], warmUps: 2, rounds };
  return [
    ...waves(load, { ...frames, proves: ['S5'] }),
    {
      ...{
        name: 'last-stream',
        proves: ['S6'],
        metrics: [P99, P50, CPU_PUBLISH],
        warmUps: 1,
        rounds,
      },
      title: `from a publish to the last of ${streams} streams on workerd`,
      entrants: entrants([...WORKERS_AND_MEMORY, IN_EACH, LOCAL, LIMIT], (server) =>
        Latency.start(server, { streams, publishes }),
      ),
    },
    {
      ...{ ...frames, name: 'node', proves: ['S10'] },
      title: `waves of ${load.uris} events to ${streams} streams on Node's HTTP and on uvicorn`,
      entrants: entrants([...PROCESSES, NODE_LIMIT], (server) => Delivery.start(server, load)),
    },
    {
      ...{
        name: 'burst',
        proves: [],
        metrics: [SETTLED, FRAMES],
        warmUps: 0,
        rounds: Math.min(rounds, 3),
      },
      title:
        `${burst.requests * 100} events in a second over 100 URIs ` +
        `to ${burst.streams} streams on workerd`,
      entrants: entrants(WORKERS_AND_MEMORY, (server) =>
        Burst.start(server, burst.streams, burst.requests),
      ),
    },
  ];
}

/** Waves of many events and of one, to streams in one isolate and in four. */
function waves(
  many: Load,
  common: Pick<Experiment, 'proves' | 'metrics' | 'warmUps' | 'rounds'>,
): Experiment[] {
  const one = { ...many, uris: 1, waves: many.uris * many.waves };
  const [wide, narrow] = [`waves of ${many.uris} events`, 'waves of one event'];
  const to = `to ${many.streams} streams`;
  const inOne = [...WORKERS_AND_MEMORY, IN_EACH, LIMIT];
  const merging = [...IN_FOUR, MERGING_RELAY_IN_FOUR];
  const each = (name: string, title: string, candidates: Candidate[], load: Load): Experiment => ({
    ...{ ...common, name, title },
    entrants: entrants(candidates, (server) => Delivery.start(server, load)),
  });
  return [
    each('workerd', `${wide} ${to} on workerd`, [...inOne, MERGING_RELAY], many),
    each('workerd-isolates', `${wide} ${to} in four isolates of workerd`, merging, many),
    each('workerd-single', `${narrow} ${to} on workerd`, inOne, one),
    each('workerd-isolates-single', `${narrow} ${to} in four isolates of workerd`, IN_FOUR, one),
  ];
}

/** The time until many streams are subscribed. */
function opens({ streams, rounds }: Size): Experiment[] {
  return [
    {
      ...{
        name: 'opens-at-once',
        proves: ['S8'],
        metrics: [OPENS, CPU_STREAM],
        warmUps: 1,
        rounds,
      },
      title: `${streams} streams, which all watch one resource, are opened at once on workerd`,
      entrants: entrants([...OPENERS, IN_EACH, LOCAL, LIMIT], (server) =>
        Opening.start(server, 0, streams, streams),
      ),
    },
  ];
}

/** The time until one stream is subscribed. */
function acknowledgments({ rounds }: Size): Experiment[] {
  const ack = { proves: ['S8'], metrics: [ACK] as [Metric], warmUps: 1, rounds };
  const peers = [...OPENERS, LIMIT];
  return [
    {
      ...{ ...ack, name: 'ack-followed', metrics: [ACK, P99] },
      title:
        'from a connection to the acknowledgment, ' +
        'of a topic that another stream of the isolate follows, on workerd',
      entrants: entrants([...peers, LOCAL], (server) => Acknowledging.start(server, 'followed')),
    },
    {
      ...{ ...ack, name: 'ack-new' },
      title: 'the same, of a topic that no other stream follows',
      entrants: [
        ...entrants([...peers, ...MEMORY], (server) => Acknowledging.start(server, 'new')),
        ...entrants([TRIP], async (server) => new RoundTrip(server, 'trips')),
        ...entrants([ECHO], async (server) => new RoundTrip(server, 'echoes')),
      ],
    },
    {
      ...{ ...ack, name: 'ack-first' },
      title: 'the same, of a stream whose isolate has no other one and no connection to the bus',
      entrants: entrants(peers, async (server) => new FirstAcknowledging(server)),
    },
    {
      ...{ ...ack, name: 'ack-hibernating' },
      title: 'the same, of a topic that no other stream follows, while the bus hibernates',
      entrants: entrants(ALONE, (server) => WakingAcknowledging.start(server)),
    },
    {
      ...{ name: 'ack-away', proves: ['S8'], metrics: [REFUSED], warmUps: 0, rounds: 3 },
      title: 'until a stream is refused because its bus does not reply, on workerd',
      entrants: entrants(AWAY, async (server) => new Refusing(server)),
    },
  ];
}

function costs({ streams, rounds }: Size): Experiment[] {
  const resident = (start: Candidate['start']) => async () =>
    new Residence(() => start(0), streams);
  return [
    {
      ...{ name: 'opens', proves: [], metrics: [OPENS, CPU_STREAM], warmUps: 1, rounds },
      title: `${streams / 2} streams are opened beside ${streams / 2} others`,
      entrants: entrants([...WORKERS, ...PROCESSES], (server) =>
        Opening.start(server, streams / 2, streams / 2),
      ),
    },
    {
      ...{
        name: 'resident',
        proves: [],
        metrics: [RESIDENT],
        warmUps: 0,
        rounds: Math.min(rounds, 3),
      },
      title: `the whole process, ${streams} idle streams`,
      entrants: [...WORKERS, ...PROCESSES].map(({ name, includes, start }) => ({
        name,
        includes,
        enter: resident(start),
      })),
    },
  ];
}

function growth({ manyStreams, fewPublishes: publishes, streams, rounds }: Size): Experiment[] {
  const axis = { label: 'streams', values: manyStreams };
  const few = { proves: [], axis, rounds: Math.min(rounds, 3) };
  return [
    {
      ...{ ...few, name: 'publish-by-streams', metrics: [P50, P99, CPU_PUBLISH], warmUps: 1 },
      title: 'from a publish to the last of more and more streams on workerd',
      entrants: entrants(WORKERS, (server, x) => Latency.start(server, { streams: x, publishes })),
    },
    {
      ...{ ...few, metrics: [P50, P99, CPU_PUBLISH], warmUps: 1 },
      name: 'publish-to-ten-by-streams',
      title: 'from a publish to the last of 10 streams, beside more and more others on workerd',
      entrants: entrants(PEERS, (server, x) =>
        Latency.start(server, { streams: 10, others: x, publishes }),
      ),
    },
    {
      ...{ ...few, name: 'open-by-streams', metrics: [OPEN, CPU_STREAM], warmUps: 1 },
      title: `${streams / 4} streams are opened beside more and more others on workerd`,
      entrants: entrants(WORKERS, (server, x) => Opening.start(server, x, streams / 4)),
    },
  ];
}

/** The cost of waking from hibernation, and of recovering from a reset of the bus. */
function recovery({ manyStreams, streams, uris, rounds }: Size): Experiment[] {
  const few = { proves: [], rounds: Math.min(rounds, 3), warmUps: 0 };
  const byStreams = { axis: { label: 'streams', values: manyStreams } };
  const byUris = { axis: { label: 'URIs a stream', values: uris } };
  const some = Math.ceil(streams / 4);
  const [many, sockets] = [streams * 3, streams * 2];
  const own = { uris: 1, hasOwn: true };
  return [
    {
      ...{ ...few, name: 'wake-streams', proves: ['S9'], metrics: [BEYOND, COLD] },
      title:
        `a publish wakes the hibernating bus of ${many} streams in one isolate, ` +
        'each of which also watches a resource that no other does, on workerd',
      entrants: entrants(ALONE, (server) => Waking.start(server, { ...own, streams: many })),
    },
    {
      ...{ ...few, name: 'wake-sockets', proves: ['S9'], metrics: [BEYOND, COLD] },
      title:
        `a publish wakes the hibernating bus of ${sockets} such streams ` +
        'with a socket each on workerd',
      entrants: entrants(
        sharded(() => sockets + 1),
        (server) => Waking.start(server, { ...own, streams: sockets }),
      ),
    },
    {
      ...{ ...few, ...byStreams, name: 'wake-by-streams', metrics: [WAKE, COLD] },
      title: 'a publish wakes the hibernating bus of more and more streams on workerd',
      entrants: entrants(ALONE, (server, x) => Waking.start(server, { streams: x, uris: 1 })),
    },
    {
      ...{ ...few, ...byUris, name: 'wake-by-uris', metrics: [WAKE, COLD] },
      title:
        `a publish wakes the hibernating bus of ${some} streams ` +
        'with more and more URIs on workerd',
      entrants: entrants(ALONE, (server, x) => Waking.start(server, { streams: some, uris: x })),
    },
    {
      ...{ ...few, ...byStreams, name: 'heal-by-streams', metrics: [HEAL] },
      title: 'the bus is reset under more and more streams on workerd',
      entrants: entrants(ALONE, (server, x) => Healing.start(server, { streams: x, uris: 1 })),
    },
    {
      ...{ ...few, ...byUris, name: 'heal-by-uris', metrics: [HEAL] },
      title: `the bus is reset under ${some} streams with more and more URIs on workerd`,
      entrants: entrants(ALONE, (server, x) => Healing.start(server, { streams: some, uris: x })),
    },
  ];
}

/** Starts the server of an entrant for each round: shards remain after their streams have left. */
function restarted(entrant: Entrant): Entrant {
  return { ...entrant, enter: async (x) => freshly(() => entrant.enter(x)) };
}

/** The same streams at more and more shards of one bus. */
function shards({ streams, shards: values, fewPublishes: publishes, rounds }: Size): Experiment[] {
  const few = { proves: [], rounds: Math.min(rounds, 3), axis: { label: 'shards', values } };
  const held = (measure: (server: LoadServer) => Promise<Contender>) =>
    entrants(
      sharded((count) => Math.ceil(streams / count)),
      (server, count) => withShards(server, count, measure),
    );
  return [
    {
      ...{ ...few, name: 'publish-by-shards', metrics: [P50, P99, CPU_PUBLISH], warmUps: 1 },
      title: `from a publish to the last of ${streams} streams at more and more shards on workerd`,
      entrants: held((server) => Latency.start(server, { streams, publishes })),
    },
    {
      ...{ ...few, name: 'open-by-shards', metrics: [OPEN, CPU_STREAM], warmUps: 1 },
      title: `${streams} streams are opened, and fill more and more shards on workerd`,
      entrants: held((server) => Opening.start(server, 0, streams)).map(restarted),
    },
    {
      ...{ ...few, name: 'wake-by-shards', metrics: [WAKE, COLD], warmUps: 0 },
      title:
        `a publish wakes a hibernating bus whose ${streams} streams ` +
        'are at more and more shards on workerd',
      entrants: held((server) => Waking.start(server, { streams, uris: 1 })),
    },
    {
      ...{ ...few, name: 'heal-by-shards', metrics: [HEAL], warmUps: 0 },
      title:
        `the root of a bus is reset whose ${streams} streams ` +
        'are at more and more shards on workerd',
      entrants: held((server) => Healing.start(server, { streams, uris: 1 })),
    },
  ];
}

const RATE: Metric = { id: 'rate', title: 'delivered', unit: 'k frames/s', better: 'more' };
const P50: Metric = { id: 'p50', title: 'median', unit: 'ms', better: 'less' };
const P99: Metric = { id: 'p99', title: 'p99', unit: 'ms', better: 'less' };
const CPU_FRAME: Metric = {
  id: 'cpu',
  title: 'processor of the server',
  unit: 'us/frame',
  better: 'less',
};
const CPU_PUBLISH: Metric = {
  id: 'cpu',
  title: 'processor of the server',
  unit: 'ms/publish',
  better: 'less',
};
const CPU_STREAM: Metric = {
  id: 'cpu',
  title: 'processor of the server',
  unit: 'ms/stream',
  better: 'less',
};
const SETTLED: Metric = {
  id: 'settled',
  title: 'last state everywhere',
  unit: 'ms',
  better: 'less',
};
const FRAMES: Metric = { id: 'frames', title: 'frames', unit: 'frames/stream', better: 'less' };
const OPENS: Metric = { id: 'opens', title: 'opened', unit: 'streams/s', better: 'more' };
const OPEN: Metric = { id: 'attach', title: 'open', unit: 'ms/stream', better: 'less' };
const ACK: Metric = { id: 'ack', title: 'to the acknowledgment', unit: 'ms', better: 'less' };
const REFUSED: Metric = { id: 'refused', title: 'until refused', unit: 'ms', better: 'less' };
const BEYOND: Metric = {
  id: 'beyond',
  title: 'beyond 1.2 warm publishes',
  unit: 'ms',
  better: 'less',
};
const RESIDENT: Metric = { id: 'resident', title: 'resident', unit: 'KiB/stream', better: 'less' };
const WAKE: Metric = { id: 'wake', title: 'the wake alone', unit: 'ms', better: 'less' };
const COLD: Metric = { id: 'cold', title: 'publish that wakes', unit: 'ms', better: 'less' };
const HEAL: Metric = { id: 'heal', title: 'until all receive again', unit: 'ms', better: 'less' };
