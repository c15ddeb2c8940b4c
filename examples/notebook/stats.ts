import type { ListenStats } from 'mcp-listen';
import type { BusStats, SubscriptionBus } from 'mcp-listen/cloudflare';
import { bears, unauthorized } from './bearer.js';

/** What `/stats` answers. */
export interface Stats {
  /** Which isolate answered: each one knows its own streams only. */
  isolate: string;
  /** The streams of this isolate. */
  streams: ListenStats;
  /** The bus, which all isolates share. */
  bus: BusStats;
}

/** Who may read the numbers. */
export interface StatsAccess {
  /** Whether everyone may: `npm start` says so, a deployment does not. */
  isOpen: boolean;
  /** The secret that opens them otherwise. */
  secret: string | undefined;
}

/**
 * Answers `GET /stats`. The numbers tell how busy a server is, so a deployment asks for the secret
 * of publishers.
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

// Made at the first request: Workers give no random numbers before that.
let isolate: string | undefined;
