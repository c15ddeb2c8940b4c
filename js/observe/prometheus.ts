import { ListenError } from '../model/error.js';
import type { ListenStats } from '../model/stats.js';
import { bears } from '../web/bearer.js';
import { report } from './on-error.js';

/** Options of {@link createMetricsHandler}. */
export interface MetricsHandlerOptions {
  /**
   * The bearer token that a request needs to read the metrics. An empty string is
   * `invalid-options`.
   */
  token: string;
  /** Returns the numbers of the server: pass `server.stats`. */
  stats: () => ListenStats;
  /**
   * Returns the numbers of the bus object, for example from its `stats()`. This wakes a bus that
   * hibernates.
   *
   * @default undefined
   */
  bus?: () => BusNumbers | Promise<BusNumbers>;
  /**
   * Called with the error if `bus` fails. The response then leaves out the numbers of the bus.
   *
   * @default console.error
   */
  onError?: (error: Error) => void;
}

/**
 * Creates an endpoint for Prometheus. It answers GET with {@link metricsText}, and requests without
 * the token with 401.
 *
 * @throws ListenError `invalid-options`.
 *
 * @example
 * ```ts
 * const scraped = createMetricsHandler({ token: env.METRICS_TOKEN, stats: server.stats });
 * const response = await scraped(request);
 * ```
 */
export function createMetricsHandler({
  bus,
  onError = report,
  stats,
  token,
}: MetricsHandlerOptions): (request: Request) => Promise<Response> {
  if (token === '') throw new ListenError('invalid-options', 'token must not be empty');
  const numbers = async (): Promise<BusNumbers | undefined> => {
    try {
      return await bus?.();
    } catch (error) {
      onError(error as Error);
      return undefined;
    }
  };
  return async (request) => {
    if (request.method !== 'GET')
      return new Response(null, { status: 405, headers: { allow: 'GET' } });
    if (!(await bears(request, token))) {
      return new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer' } });
    }
    return new Response(metricsText(stats(), await numbers()), { headers: HEADERS });
  };
}

const HEADERS = {
  'content-type': 'text/plain; version=0.0.4; charset=utf-8',
  'cache-control': 'no-store',
};

/** The numbers of a bus that are exported; the `BusStats` of a bus object have them. */
export interface BusNumbers {
  /** Streams attached. */
  attached: number;
  /** Events published since the log began. */
  position: number;
  /** Sessions of clients of earlier revisions. */
  sessions: number;
}

/**
 * Returns the numbers of a server, and those of its bus object if given, in the Prometheus text
 * format 0.0.4. There are at most 40 series, and their labels are only reasons and bounds.
 *
 * @example
 * ```ts
 * const text = metricsText(server.stats());
 * ```
 */
export function metricsText(stats: ListenStats, bus?: BusNumbers): string {
  const parts = [...gauges(stats), ...counters(stats), histogram(stats)];
  return [...parts, ...(bus === undefined ? [] : ofBus(bus))].join('');
}

function gauges({ away, open }: ListenStats): string[] {
  return [
    family('streams_open', 'gauge', 'Streams open now.', [['', open]]),
    family('streams_away', 'gauge', 'Open streams whose bus is away.', [['', away]]),
  ];
}

/** The number of opened streams is left out: it is the sum of the open and the ended ones. */
function counters(stats: ListenStats): string[] {
  return [
    family(
      'streams_ended_total',
      'counter',
      'Streams that ended, by reason.',
      byReason(stats.ended),
    ),
    family(
      'requests_refused_total',
      'counter',
      'Requests refused, by reason.',
      byReason(stats.refused),
    ),
    family('outages_total', 'counter', 'Times that a stream lost its bus.', [['', stats.outages]]),
    family('gaps_total', 'counter', 'Times that an event was missing between bus and stream.', [
      ['', stats.gaps],
    ]),
    family('resyncs_total', 'counter', 'Times that a stream cued everything it honors.', [
      ['', stats.resyncs],
    ]),
    family('events_total', 'counter', 'Events that streams honored.', [['', stats.events]]),
    family('events_collapsed_total', 'counter', 'Events merged into an earlier pending one.', [
      ['', stats.collapsed],
    ]),
    family('notifications_total', 'counter', 'Notifications written.', [['', stats.notifications]]),
  ];
}

function ofBus({ attached, position, sessions }: BusNumbers): string[] {
  return [
    family('bus_streams', 'gauge', 'Streams attached to the bus.', [['', attached]]),
    family('bus_sessions', 'gauge', 'Sessions of earlier revisions.', [['', sessions]]),
    family('bus_events_total', 'counter', 'Events published since the log began.', [
      ['', position],
    ]),
  ];
}

function histogram({ writeDelayMs, written }: ListenStats): string {
  const within = (bound: number): number =>
    written.reduce((sum, { count, le }) => (le <= bound ? sum + count : sum), 0);
  const buckets = BOUNDS.map((bound): Sample => {
    const le = bound === Number.POSITIVE_INFINITY ? '+Inf' : bound / 1_000;
    return [`_bucket{le="${le}"}`, within(bound)];
  });
  const samples: Sample[] = [
    ...buckets,
    ['_sum', writeDelayMs / 1_000],
    ['_count', within(Number.POSITIVE_INFINITY)],
  ];
  return family('write_delay_seconds', 'histogram', 'Seconds from publish to write.', samples);
}

function byReason(counts: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(counts).map(([reason, count]) => [`{reason="${reason}"}`, count]);
}

function family(
  name: string,
  type: 'counter' | 'gauge' | 'histogram',
  help: string,
  samples: Sample[],
): string {
  const full = `mcp_listen_${name}`;
  const lines = samples.map(([suffix, value]) => `${full}${suffix} ${value}\n`);
  return `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n${lines.join('')}`;
}

/** The text after the name of a metric, and its value. */
type Sample = [suffix: string, value: number];

/** Upper bounds in milliseconds. Each is a bound of `written`; those below 20 ms are left out. */
const BOUNDS = [20, 100, 500, 2_000, Number.POSITIVE_INFINITY];
