import { defineEvents, type EventWebhookOptions, eventLog } from 'mcp-listen/events';
import type { Disconnect } from '../../../dist/bus/events.js';
import type { DeliverMaker } from '../../../dist/bus/memory/webhooks.js';
import type { Endpoint } from '../../host/endpoint.ts';
import { HOOK_SECRET } from '../../host/webhook.ts';

/** What outlives a deployment: the subscriptions, and what the bus has of one event type. */
export interface Store {
  rows: Map<string, string>;
  disconnects: Disconnect[];
  definitions: string | undefined;
  events: object[];
  /** What a deployment sets its alarm to. */
  setAlarm?: (at: number | undefined) => void;
  /** What the bus responds to a deployment that has it follow event types. */
  follow?: Parameters<DeliverMaker>[0]['follow'];
  /** How the bus returns a page of its log. */
  page?: Parameters<DeliverMaker>[0]['page'];
}

export type Types = Parameters<typeof defineEvents>[0];

export type Ttl = 'default' | 'endless' | { for: number };

/** A store of the first deployment. */
export function emptyStore(): Store {
  return { rows: new Map(), disconnects: [], definitions: undefined, events: [] };
}

/** Starts a deployment with these types. */
export function deploy(
  store: Store,
  types: Types,
  options: EventWebhookOptions = {},
): ReturnType<DeliverMaker> {
  const webhooks = { allowInsecureLocalhost: true, noExpiry: true, ...options };
  const { deliver } = eventLog({ webhooks: defineEvents(types, { webhooks }) });
  if (deliver === undefined) throw new Error('nothing is delivered');
  const { rows } = store;
  const followed = async (_: readonly string[], subscriptions: number) => ({
    ...{ epoch: 'e', head: store.events.length, total: subscriptions },
  });
  return deliver({
    rows: {
      subscriptions: () => [...rows].map(([id, text]) => ({ id, text })),
      put: (id, text) => void rows.set(id, text),
      remove: (id) => void rows.delete(id),
      watermarks: () => [],
      putWatermark: () => {},
      removeWatermark: () => {},
      disconnects: store.disconnects,
      keepDisconnect: (disconnect) => void store.disconnects.push(disconnect),
    },
    alarmAt: undefined,
    maxTtlMs: undefined,
    maxHeld: undefined,
    followed: ['noted'],
    definitions: store.definitions,
    keepDefinitions: (text) => {
      store.definitions = text;
    },
    setAlarm: async (at) => store.setAlarm?.(at),
    page: store.page ?? (async () => pageOf(store.events)),
    follow: store.follow ?? followed,
    reset: () => {},
  });
}

/** The occurrence at a position. */
export function eventAt(position: number): object {
  const at = Date.now();
  const timestamp = new Date(at).toISOString();
  return { position, at, eventId: 'one', timestamp, data: { topic: 'one' } };
}

/** A request to subscribe an endpoint to `noted`. */
export function webhookOf({ url }: Pick<Endpoint, 'url'>, ttl: Ttl = 'default') {
  return {
    ...{ principal: 'ada', groups: [], name: 'noted', arguments: '{}' },
    ...{ url, secret: HOOK_SECRET, ttl, cursor: undefined, maxAgeMs: undefined },
    codes: 'sketch' as const,
    askedAt: 0,
  };
}

/** The page of a log with these occurrences of one event type. */
export function pageOf(events: object[]): string {
  const through = events.length;
  const flags = { more: false, trimmed: false, skipped: false };
  return JSON.stringify({ epoch: 'e', head: through, from: 0, through, ...flags, events });
}
