import { type Experiment, type Metric, OURS } from '../harness/experiment.ts';
import { Browsing } from './browsing.ts';
import { Painting } from './painting.ts';

/** The sizes of the experiments. */
export interface Size {
  /** Messages in the timeline, and in the one beside it. */
  messages: [many: number, few: number];
  rounds: number;
}

/** `full` for results, `quick` to see within minutes that everything runs. */
export const SIZES: Record<'full' | 'quick', Size> = {
  full: { messages: [50_000, 500], rounds: 15 },
  quick: { messages: [5_000, 500], rounds: 3 },
};

/** All experiments with the console, in headless Chromium. */
export function consolePage({ messages: [many, few], rounds }: Size): Experiment[] {
  return [
    {
      ...{ name: 'console-paint', proves: ['S14'], metrics: [NARROW, WIDE], warmUps: 2, rounds },
      title: 'the console is opened in a browser that runs, with nothing in its cache',
      entrants: [
        {
          name: OURS,
          includes: 'from the navigation to the first text: the page, and the style sheet for it',
          enter: () => Painting.start('/', (console) => console.connected()),
        },
        {
          name: 'one line of text',
          includes: 'the same of a file without a style sheet, of the same Worker',
          enter: () => Painting.start('/client.json'),
        },
      ],
    },
    {
      ...{ name: 'console-timeline', proves: ['S14'] },
      ...{ metrics: [INSERT, SCROLL, TYPING, SLOWEST], warmUps: 1, rounds },
      title: `the timeline of the console has ${many} messages`,
      entrants: [
        {
          name: OURS,
          includes: 'what the page itself does for a frame or a key; not what the browser paints',
          enter: () => Browsing.start(many),
        },
        {
          name: `${few} messages`,
          includes: 'the same, with fewer messages in the timeline',
          enter: () => Browsing.start(few),
        },
      ],
    },
  ];
}

const NARROW: Metric = { id: 'narrow', title: '390 pixels wide', unit: 'ms', better: 'less' };
const WIDE: Metric = { id: 'wide', title: '1,280 pixels wide', unit: 'ms', better: 'less' };
const INSERT: Metric = {
  id: 'insert',
  title: '50 messages come',
  unit: 'ms/frame',
  better: 'less',
};
const SCROLL: Metric = { id: 'scroll', title: 'scrolling', unit: 'ms/frame', better: 'less' };
const TYPING: Metric = { id: 'typing', title: 'typing a filter', unit: 'ms/key', better: 'less' };
const SLOWEST: Metric = { id: 'slowest', title: 'the slowest frame', unit: 'ms', better: 'less' };
