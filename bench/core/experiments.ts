import type { Contender, Experiment, Metric } from '../harness/experiment.ts';
import { OURS } from '../harness/experiment.ts';
import { cargoBench } from './cargo-bench.ts';

/** Costs of the core alone, run natively: a server around it would hide them. */
export function core(rounds: number): Experiment[] {
  return [
    {
      ...{ name: 'one-name', proves: ['S8'], metrics: [CHANGE], warmUps: 0, rounds },
      title: 'a bus adds one more name to a connection that has more and more, or drops it',
      axis: { label: 'names on the connection', values: [0, 65_536] },
      entrants: [
        entrant(
          'the core alone: reads the frame, changes its index, ' +
            'returns what to store and what to reply',
          'names',
          'change',
        ),
      ],
    },
    {
      ...{ name: 'core-targeted', proves: ['S3'], metrics: [EVENT], warmUps: 0, rounds },
      title: '100 streams of a process receive each event, more and more others do not',
      axis: { label: 'streams', values: [1_000, 10_000, 100_000] },
      entrants: [
        entrant(
          'the core alone, native: finds the streams, writes the frames, returns both',
          'targeted',
          'event',
        ),
      ],
    },
    {
      ...{ name: 'shard-publish', proves: ['S11'], metrics: [PUBLISH], warmUps: 0, rounds },
      title: 'a shard with more and more edges takes an event that one of them wants',
      axis: { label: 'edges', values: [1_000, 10_000] },
      entrants: [
        entrant(
          'the core alone: reads the batch, finds the edge, writes the frame and the reply',
          'scale',
          'publish',
        ),
      ],
    },
  ];
}

function entrant(includes: string, bench: string, metric: string) {
  const enter = async (x: number): Promise<Contender> => ({
    round: async () => ({ [metric]: await cargoBench(bench, x) }),
    leave: async () => {},
  });
  return { name: OURS, includes, enter };
}

const CHANGE: Metric = { id: 'change', title: 'one change', unit: 'us', better: 'less' };
const EVENT: Metric = { id: 'event', title: 'one event', unit: 'us', better: 'less' };
const PUBLISH: Metric = { id: 'publish', title: 'one publish', unit: 'us', better: 'less' };
