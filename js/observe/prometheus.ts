import { ListenError } from '../model/error.js';
import type { ListenStats } from '../model/stats.js';
import { bears } from '../web/bearer.js';
import { report } from './on-error.js';

/** What an endpoint for Prometheus tells, and to whom. */
export interface MetricsHandlerOptions {
  /**
   * The bearer token that a request needs to read the numbers. An empty text is `invalid-options`.
   */
  token: string;
  /**
   * Returns the numbers of the server: pass `server.stats`.
   */
  stats: () => ListenStats;
  /**
   * Returns the numbers of the bus object, for example by calling its `stats()`. This wakes a bus
   * that hibernates.
   *
   * @default undefined
   */
  bus?: () => BusNumbers | Promise<BusNumbers>;
  /**
   * Called with the error if the bus cannot be asked. The answer then leaves out its numbers.
   *
   * @default console.error
   */
  onError?: (error: Error) => void;
}

/**
 * An endpoint that Prometheus can scrape: answers GET with {@link metricsText}, and 401 to whoever does not bear the token.
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
  if (token === '') throw new ListenError('invalid-options', 'an empty token is none');
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

/** What a bus tells of itself: the `BusStats` of a bus object are such. */
export interface BusNumbers {
  /** Streams attached. */
  attached: number;
  /** Events published since the log began. */
  position: number;
  /** Sessions of clients of earlier revisions. */
  sessions: number;
}

/**
 * The numbers of a server, and those of its bus object where given, as Prometheus reads them (text format 0.0.4): at most 40 series,
 * whose labels say nothing but reasons and bounds.
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

/** How many streams were opened follows from those that are open and those that ended. */
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
    family('gaps_total', 'counter', 'Times that something was missing between bus and stream.', [
      ['', stats.gaps],
    ]),
    family('resyncs_total', 'counter', 'Times that a stream cued all that it honors.', [
      ['', stats.resyncs],
    ]),
    family('events_total', 'counter', 'Events that streams honored.', [['', stats.events]]),
    family('events_collapsed_total', 'counter', 'Events told with an earlier one.', [
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

/** What follows the name of a metric, and its value. */
type Sample = [suffix: string, value: number];

/** Upper bounds in milliseconds, each one of `written`: a scrape needs none below 20 ms. */
const BOUNDS = [20, 100, 500, 2_000, Number.POSITIVE_INFINITY];
