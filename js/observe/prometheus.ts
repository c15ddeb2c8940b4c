import type { ListenStats } from '../model/stats/listen.js';
import { expectToken, hasBearerToken } from '../web/bearer.js';
import {
  type BusNumbers,
  type MetricFamily,
  metricFamilies,
  numbersOf,
} from './metric-families.js';
import { report } from './on-error.js';

/** Options of {@link createMetricsHandler}. */
export interface MetricsHandlerOptions {
  /**
   * The bearer token that a request needs to read the metrics, at least 16 bytes.
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
   * Called with the error if `bus` fails or takes more than 2 seconds. The response then leaves out
   * the numbers of the bus.
   *
   * @default console.error
   */
  onError?: (error: Error) => void;
}

/**
 * Creates an endpoint for Prometheus. It responds to GET with {@link metricsText}, and to requests
 * without the token with 401.
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
  expectToken(token);
  return async (request) => {
    if (request.method !== 'GET')
      return new Response(null, { status: 405, headers: { allow: 'GET' } });
    if (!(await hasBearerToken(request, token))) {
      return new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer' } });
    }
    return new Response(metricsText(stats(), await numbersOf(bus, onError)), { headers: HEADERS });
  };
}

const HEADERS = {
  'content-type': 'text/plain; version=0.0.4; charset=utf-8',
  'cache-control': 'no-store',
};

/**
 * Returns the numbers of a server, and those of its bus object if given, in the Prometheus text
 * format 0.0.4. There are at most 50 series, and their labels are only reasons and bounds.
 *
 * @example
 * ```ts
 * const text = metricsText(server.stats());
 * ```
 */
export function metricsText(stats: ListenStats, bus?: BusNumbers): string {
  return metricFamilies(stats, bus).map(textOf).join('');
}

function textOf({ help, name, samples, type }: MetricFamily): string {
  const lines = samples.map(({ labels, suffix = '', value }) => {
    const pairs = Object.entries(labels ?? {}).map(([label, text]) => `${label}="${text}"`);
    return `${name}${suffix}${pairs.length === 0 ? '' : `{${pairs}}`} ${value}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}
