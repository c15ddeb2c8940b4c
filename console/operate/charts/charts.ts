import { element } from '../../dom.js';
import { shortTime } from '../../format.js';
import type { Second, StatsHistory } from '../history.js';
import { Chart } from './chart.js';
import type { Line } from './line.js';
import { Reasons } from './reasons.js';

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
  show(history: StatsHistory): void {
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

function delays(history: StatsHistory, of: 'acknowledgments' | 'deliveries'): Line[] {
  return [0.5, 0.95, 0.99].map((share) => ({
    label: `p${share * 100}`,
    values: history.percentiles(of, share),
  }));
}

const number = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 1 });
const NO_EVENTS = 'No event was published while this page watched. Publish one under Actions.';
const NO_CUES = 'No stream received a cue. Open a subscription in Inspect, then publish an event.';
const NO_STREAMS = 'No stream was opened while this page watched. Open a subscription in Inspect.';
const NO_ENDS = 'No stream has ended while this page watched. Close a subscription in Inspect.';
const NO_REFUSALS = 'No request was refused while this page watched. Keep watching.';
const LINES = { kind: 'lines', format: number, empty: NO_EVENTS } as const;
const STACK = { kind: 'stack', format: number } as const;
const DELAYS = {
  kind: 'lines',
  format: shortTime,
  isLogarithmic: true,
  empty: NO_CUES,
} as const;
