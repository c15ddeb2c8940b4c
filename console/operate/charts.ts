import { element } from '../dom.js';
import { shortTime } from '../format.js';
import { Chart, type Line } from './chart.js';
import type { Counts, History, Second } from './history.js';

/** The charts of the last five minutes. */
export class Charts {
  readonly view = element('div', { class: 'charts' });
  readonly #rates = new Chart({ ...LINES, title: 'Per second' });
  readonly #cues = new Chart({ ...STACK, title: 'Cues', empty: NO_CUES });
  readonly #deliveries = new Chart({ ...DELAYS, title: 'Publish to write' });
  readonly #acknowledgments = new Chart({
    ...{ ...DELAYS, title: 'Time to acknowledge', empty: NO_STREAMS },
  });
  readonly #ended = new Chart({ ...STACK, title: 'Streams ended', empty: NO_ENDS });
  readonly #refused = new Chart({ ...STACK, title: 'Requests refused', empty: NO_REFUSALS });
  readonly #reasons = { ended: new Reasons(), refused: new Reasons() };

  constructor() {
    for (const chart of [
      this.#rates,
      this.#cues,
      this.#deliveries,
      this.#acknowledgments,
      this.#ended,
      this.#refused,
    ])
      this.view.append(chart.panel);
  }

  /** Shows a history. */
  show(history: History): void {
    const { seconds } = history;
    const times = seconds.map(({ at }) => at);
    const values = (of: (second: Second) => number) => seconds.map(of);
    this.#rates.show(times, [
      { label: 'published', values: values(({ published }) => published) },
      { label: 'at streams', values: values(({ events }) => events) },
      { label: 'cues', values: values(({ written }) => written) },
    ]);
    this.#cues.show(times, [
      { label: 'written', values: values(({ written }) => written) },
      { label: 'collapsed', values: values(({ collapsed }) => collapsed) },
    ]);
    this.#deliveries.show(times, delays(history, 'deliveries'));
    this.#acknowledgments.show(times, delays(history, 'acknowledgments'));
    for (const name of ['ended', 'refused'] as const) {
      const chart = name === 'ended' ? this.#ended : this.#refused;
      chart.show(times, this.#reasons[name].lines(seconds.map((second) => second[name])));
    }
  }
}

function delays(history: History, of: 'acknowledgments' | 'deliveries'): Line[] {
  return [0.5, 0.95, 0.99].map((share) => ({
    label: `p${share * 100}`,
    values: history.percentiles(of, share),
  }));
}

/** Gives reasons their colors in the order in which they appear; the sixth and later share one. */
class Reasons {
  readonly #known: string[] = [];

  lines(counts: Counts[]): Line[] {
    for (const reason of counts.flatMap((each) => Object.keys(each)))
      if (!this.#known.includes(reason)) this.#known.push(reason);
    const own =
      this.#known.length > MAX_COLORS ? this.#known.slice(0, MAX_COLORS - 1) : this.#known;
    const others = this.#known.slice(own.length);
    const lines = own.map((reason) => ({
      label: reason,
      values: counts.map((each) => each[reason] ?? 0),
    }));
    if (others.length === 0) return lines;
    const sum = (each: Counts) => others.reduce((all, reason) => all + (each[reason] ?? 0), 0);
    return [...lines, { label: 'others', values: counts.map(sum) }];
  }
}

const MAX_COLORS = 6;
const number = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 1 });
const NO_EVENTS = 'No event was published while this page watched. Publish one under Actions.';
const NO_CUES = 'No stream received a cue. Open a subscription in Inspect, then publish an event.';
const NO_STREAMS = 'No stream was opened while this page watched. Open a subscription in Inspect.';
const NO_ENDS = 'No stream has ended while this page watched.';
const NO_REFUSALS = 'No request was refused while this page watched.';
const LINES = { kind: 'lines', format: number, empty: NO_EVENTS } as const;
const STACK = { kind: 'stack', format: number } as const;
const DELAYS = {
  kind: 'lines',
  format: shortTime,
  isLogarithmic: true,
  empty: NO_CUES,
} as const;
