import { ListenError } from '../model/error.js';
import type { ListenStats, WriteDelayCount } from '../model/stats/listen.js';
import { withTimeout } from '../timing/with-timeout.js';

/** The numbers of a bus that are exported; the `BusStats` of a bus object have them. */
export interface BusNumbers {
  /** Streams attached. */
  attached: number;
  /** Events published since the log began. */
  position: number;
  /** Sessions of clients of earlier revisions. */
  sessions: number;
  /** Subscriptions of webhooks; undefined if the bus delivers to none. */
  webhooks?: number | undefined;
}

/**
 * Reads the numbers of a bus; undefined without a bus, or if it fails or does not reply in time,
 * which is reported.
 */
export async function numbersOf(
  bus: (() => BusNumbers | Promise<BusNumbers>) | undefined,
  onError: (error: Error) => void,
): Promise<BusNumbers | undefined> {
  try {
    return await (bus && withTimeout(BUS_MS, bus(), late));
  } catch (error) {
    onError(error as Error);
    return undefined;
  }
}

function late(): ListenError {
  return new ListenError('bus-unavailable', `the bus has not replied within ${BUS_MS} ms`);
}

/** A metric with its samples. */
export interface MetricFamily {
  /** The full name, as in Prometheus. */
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  samples: MetricSample[];
}

/** One series of a metric. */
export interface MetricSample {
  /** Appended to the name, for the parts of a histogram. */
  suffix?: '_bucket' | '_sum' | '_count';
  labels?: Record<string, string>;
  value: number;
}

/** Returns the metrics of a server, and those of its bus object if given. */
export function metricFamilies(stats: ListenStats, bus?: BusNumbers): MetricFamily[] {
  const parts = [...gauges(stats), ...counters(stats), ...histograms(stats)];
  return [...parts, ...(bus === undefined ? [] : ofBus(bus))];
}

function gauges({ away, open }: ListenStats): MetricFamily[] {
  return [
    family('streams_open', 'gauge', 'Streams open now.', open),
    family('streams_away', 'gauge', 'Open streams whose bus is unavailable.', away),
  ];
}

/** The number of opened streams is left out: it is the sum of the open and the ended ones. */
function counters(stats: ListenStats): MetricFamily[] {
  return [
    family('streams_ended_total', 'counter', 'Streams that ended, by reason.', stats.ended),
    family('requests_refused_total', 'counter', 'Requests refused, by reason.', stats.refused),
    family('outages_total', 'counter', 'Times that a stream lost its bus.', stats.outages),
    family('gaps_total', 'counter', GAPS, stats.gaps),
    family('resyncs_total', 'counter', RESYNCS, stats.resyncs),
    family('events_total', 'counter', 'Events that streams honored.', stats.events),
    family('events_collapsed_total', 'counter', COLLAPSED, stats.collapsed),
    family('notifications_total', 'counter', 'Notifications written.', stats.notifications),
  ];
}

function ofBus({ attached, position, sessions, webhooks }: BusNumbers): MetricFamily[] {
  const hooks =
    webhooks === undefined
      ? []
      : [family('bus_webhooks', 'gauge', 'Subscriptions of webhooks.', webhooks)];
  return [
    ...hooks,
    family('bus_streams', 'gauge', 'Streams attached to the bus.', attached),
    family('bus_sessions', 'gauge', 'Sessions of earlier revisions.', sessions),
    family('bus_events_total', 'counter', 'Events published since the log began.', position),
  ];
}

function histograms({ acknowledged, writeDelayMs, written }: ListenStats): MetricFamily[] {
  return [
    histogram('write_delay_seconds', 'Seconds from publish to write.', written, writeDelayMs),
    // The sum of these times is not counted, and a histogram may omit it.
    histogram('ack_seconds', 'Seconds that the bus took to confirm a stream.', acknowledged),
  ];
}

function histogram(
  name: string,
  help: string,
  counts: readonly WriteDelayCount[],
  sumMs?: number,
): MetricFamily {
  const within = (bound: number): number =>
    counts.reduce((sum, { count, le }) => (le <= bound ? sum + count : sum), 0);
  const samples = BOUNDS.map((bound): MetricSample => {
    const le = bound === Number.POSITIVE_INFINITY ? '+Inf' : String(bound / 1_000);
    return { suffix: '_bucket', labels: { le }, value: within(bound) };
  });
  if (sumMs !== undefined) samples.push({ suffix: '_sum', value: sumMs / 1_000 });
  samples.push({ suffix: '_count', value: within(Number.POSITIVE_INFINITY) });
  return { name: `mcp_listen_${name}`, type: 'histogram', help, samples };
}

/** Returns a metric of one number, or of a number for each reason. */
function family(
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  value: number | Readonly<Record<string, number>>,
): MetricFamily {
  const samples =
    typeof value === 'number'
      ? [{ value }]
      : Object.entries(value).map(([reason, count]) => ({ labels: { reason }, value: count }));
  return { name: `mcp_listen_${name}`, type, help, samples };
}

const GAPS = 'Times that an event was missing between bus and stream.';
const RESYNCS = 'Times that a stream was resynced, because missed events could not be determined.';
const COLLAPSED = 'Events merged into an earlier pending one.';
/** Upper bounds in milliseconds: those of the statistics, without the ones below 20 ms. */
const BOUNDS = [20, 100, 500, 2_000, Number.POSITIVE_INFINITY];
/**
 * Milliseconds that the bus may take: the numbers of the server are read within the timeout of a
 * scrape or collection, also in an outage of the bus.
 */
const BUS_MS = 2_000;
