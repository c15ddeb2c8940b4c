import { ListenError } from '../model/error.js';
import type { ListenStats } from '../streams/registry.js';
import { bears } from '../web/bearer.js';
import { report } from './on-error.js';
import { type BusNumbers, metricsText } from './prometheus-text.js';

/** What an endpoint for Prometheus tells, and to whom. */
export interface MetricsOptions {
  /** Whoever bears it may read the numbers. */
  token: string;
  /** The numbers of the server: `server.stats`. */
  stats: () => ListenStats;
  /** The numbers of its bus object, whose `stats()` may be asked. Being asked wakes a bus that hibernates. */
  bus?: () => BusNumbers | Promise<BusNumbers>;
  /** Told where the bus cannot be asked: the rest is answered without it (default: `console.error`). */
  onerror?: (error: Error) => void;
}

/**
 * An endpoint that Prometheus can scrape: answers GET with {@link metricsText}, and 401 to whoever does not bear the token.
 *
 * @throws ListenError `invalid-options`.
 */
export function metrics({
  bus,
  onerror = report,
  stats,
  token,
}: MetricsOptions): (request: Request) => Promise<Response> {
  if (token === '') throw new ListenError('invalid-options', 'an empty token is none');
  const numbers = async (): Promise<BusNumbers | undefined> => {
    try {
      return await bus?.();
    } catch (error) {
      onerror(error as Error);
      return undefined;
    }
  };
  return async (request) => {
    if (request.method !== 'GET') return new Response(null, { status: 405, headers: { allow: 'GET' } });
    if (!(await bears(request, token))) {
      return new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer' } });
    }
    return new Response(metricsText(stats(), await numbers()), { headers: HEADERS });
  };
}

const HEADERS = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' };
