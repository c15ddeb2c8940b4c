import type { ListenStats } from 'mcp-listen';
import type { BusStats, SubscriptionBus } from 'mcp-listen/cloudflare';
import { bears, unauthorized } from './bearer.js';

/** The response of `/stats`. */
export interface Stats {
  /** The id of the isolate that answered: each isolate knows only its own streams. */
  isolate: string;
  /** The streams of this isolate. */
  streams: ListenStats;
  /** The counters of the bus, which all isolates share. */
  bus: BusStats;
}

/** Who may read `/stats`. */
export interface StatsAccess {
  /** Whether it is public: it is with `npm start`, and not when deployed. */
  isOpen: boolean;
  /** The bearer token that is required otherwise. */
  secret: string | undefined;
}

/**
 * Creates the handler of `GET /stats`. The counters show how busy a server is, so a deployment
 * requires the publish secret.
 */
export function statistics({ isOpen, secret }: StatsAccess) {
  return async (
    request: Request,
    streams: ListenStats,
    bus: () => DurableObjectStub<SubscriptionBus>,
  ): Promise<Response> => {
    if (request.method !== 'GET')
      return new Response(null, { status: 405, headers: { Allow: 'GET' } });
    if (!isOpen && !(secret && (await bears(request, secret)))) return unauthorized();
    isolate ??= crypto.randomUUID();
    const stats: Stats = { isolate, streams, bus: await bus().stats() };
    return Response.json(stats, { headers: { 'Cache-Control': 'no-store' } });
  };
}

// Created at the first request: on Workers there are no random numbers before that.
let isolate: string | undefined;
