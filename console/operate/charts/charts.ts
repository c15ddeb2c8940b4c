import { element } from '../../dom.js';
import { shortTime } from '../../format.js';
import type { DelayKind, StatsHistory } from '../history.js';
import { Chart, type ChartOptions } from './chart.js';
import type { Line } from './line.js';
import { Reasons } from './reasons.js';

/** The charts of the last five minutes. */
export class Charts {
  readonly view = element('div', { class: 'charts' });
  readonly #charts: (readonly [Chart, LinesOf])[] = [];

  constructor() {
    const rates = { published: 'published', 'at streams': 'events', cues: 'written' } as const;
    this.#add({ ...LINES, title: 'Per second' }, counts(rates));
    const cues = { written: 'written', collapsed: 'collapsed' } as const;
    this.#add({ ...STACK, title: 'Cues', empty: NO_CUES }, counts(cues));
    this.#add({ ...DELAYS, title: 'Publish to write', empty: NO_CUES }, delays('deliveries'));
    this.#add({ ...DELAYS, title: 'Publish to arrival', empty: NO_ARRIVALS }, delays('arrivals'));
    const acknowledged = { ...DELAYS, title: 'Time to acknowledge', empty: NO_STREAMS };
    this.#add(acknowledged, delays('acknowledgments'));
    this.#add({ ...STACK, title: 'Streams ended', empty: NO_ENDS }, reasons('ended'));
    this.#add({ ...STACK, title: 'Requests refused', empty: NO_REFUSALS }, reasons('refused'));
  }

  /** Shows a history. */
  show(history: StatsHistory): void {
    const times = history.seconds.map(({ at }) => at);
    for (const [chart, linesOf] of this.#charts) chart.show(times, linesOf(history));
  }

  #add(options: ChartOptions, linesOf: LinesOf): void {
    const chart = new Chart(options);
    this.#charts.push([chart, linesOf]);
    this.view.append(chart.panel);
  }
}

/** Returns what a chart shows of a history. */
type LinesOf = (history: StatsHistory) => Line[];

/** Shows counts by their labels. */
function counts(labels: Record<string, 'published' | 'events' | 'written' | 'collapsed'>): LinesOf {
  return ({ seconds }) =>
    Object.entries(labels).map(([label, of]) => ({
      label,
      values: seconds.map((second) => second[of]),
    }));
}

function delays(of: DelayKind): LinesOf {
  return (history) =>
    [0.5, 0.95, 0.99].map((share) => ({
      label: `p${share * 100}`,
      values: history.percentiles(of, share),
    }));
}

function reasons(of: 'ended' | 'refused'): LinesOf {
  const known = new Reasons();
  return ({ seconds }) => known.lines(seconds.map((second) => second[of]));
}

const number = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 1 });
const NO_EVENTS = 'No event was published while this page watched. Publish one under Actions.';
const NO_CUES = 'No stream received a cue. Open a subscription in Inspect, then publish an event.';
const NO_ARRIVALS =
  'No cue of a publish arrived here. Open a subscription in Inspect, then publish an event.';
const NO_STREAMS = 'No stream was opened while this page watched. Open a subscription in Inspect.';
const NO_ENDS = 'No stream has ended while this page watched. Close a subscription in Inspect.';
const NO_REFUSALS = 'No request was refused while this page watched. Keep watching.';
const LINES = { kind: 'lines', format: number, empty: NO_EVENTS } as const;
const STACK = { kind: 'stack', format: number } as const;
const DELAYS = { kind: 'lines', format: shortTime, isLogarithmic: true } as const;
