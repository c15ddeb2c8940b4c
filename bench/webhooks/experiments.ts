import { type Experiment, type Metric, OURS } from '../harness/experiment.ts';
import { Delivering, Looping, type PostingSize } from './posting.ts';
import { Publishing, type PublishingSize } from './publishing.ts';

/** The sizes of the experiments. */
export interface Size {
  publishing: PublishingSize;
  posting: PostingSize;
  rounds: number;
}

/** `full` for results, `quick` to see within minutes that everything runs. */
export const SIZES: Record<'full' | 'quick', Size> = {
  full: {
    publishing: { perObject: 500, publishes: 50 },
    posting: { webhooks: 10, events: 600 },
    rounds: 7,
  },
  quick: {
    publishing: { perObject: 20, publishes: 10 },
    posting: { webhooks: 5, events: 20 },
    rounds: 3,
  },
};

/** All experiments with webhooks, on workerd. */
export function webhooks({ posting, publishing, rounds }: Size): Experiment[] {
  const { perObject } = publishing;
  const messages = posting.events * posting.webhooks;
  return [
    {
      ...{ name: 'webhook-publish', proves: ['S13'], metrics: [PUBLISH, LEAST, CPU_PUBLISH] },
      ...{ warmUps: 2, rounds },
      title:
        `a publish returns, with ${perObject * 20} webhooks of its event type ` +
        'that do not match',
      entrants: [
        {
          name: OURS,
          includes:
            'a request to a Worker, its call of the bus object, the log on disk, and both ' +
            'replies; not the reading in 20 objects, for which the next publish waits',
          enter: () => Publishing.start(publishing),
        },
        {
          name: 'no webhooks',
          includes: 'the same, without any webhooks',
          enter: () => Publishing.start({ ...publishing, perObject: 0 }),
        },
      ],
    },
    {
      ...{ name: 'webhook-posts', proves: ['S13'], metrics: [RATE, CPU_POST], warmUps: 2, rounds },
      title: `${messages} messages to ${posting.webhooks} webhooks of one caller, at one host`,
      entrants: [
        {
          name: OURS,
          includes:
            'publish, log, one object that reads, signs and posts, two at a time, and stores',
          enter: () => Delivering.start(posting),
        },
        {
          name: 'a loop of fetch',
          includes:
            'a Worker that posts the same body, unsigned, two at a time, and stores nothing',
          enter: () => Looping.start(posting),
        },
      ],
    },
  ];
}

const PUBLISH: Metric = { id: 'publish', title: 'publish, p50', unit: 'ms', better: 'less' };
const LEAST: Metric = { id: 'least', title: 'publish, the quickest', unit: 'ms', better: 'less' };
const CPU_PUBLISH: Metric = {
  id: 'cpu',
  title: 'processor, with what follows in all objects',
  unit: 'ms/publish',
  better: 'less',
};
const RATE: Metric = { id: 'rate', title: 'messages', unit: 'POST/s', better: 'more' };
const CPU_POST: Metric = { id: 'cpu', title: 'processor', unit: 'us/POST', better: 'less' };
