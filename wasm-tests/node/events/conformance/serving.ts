import { createListenHandler, InMemoryBus, type ListenHandlerOptions } from 'mcp-listen';
import { defineEvents, type EventWebhookOptions, eventLog } from 'mcp-listen/events';
import { expect } from 'vitest';
import { callRequest } from '../../../host/call.ts';
import { EventReader } from '../../../host/events.ts';
import { discovering } from '../../../host/servers/discovering.ts';
import { HOOK_SECRET } from '../../../host/webhook.ts';

/** The response of a server: a result, or an error. */
export interface Reply {
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
}

/** Options of a server. */
export interface ServingOptions extends Omit<ListenHandlerOptions, 'bus' | 'events'> {
  /** The options of its events. */
  events?: Parameters<typeof defineEvents>[1];
  /** The options of its delivery to webhooks. */
  webhooks?: EventWebhookOptions;
  /** The window of its log. */
  log?: Parameters<typeof eventLog>[0];
  /** A bus in place of one in memory. */
  bus?: ListenHandlerOptions['bus'];
}

/** A page of `events/poll`. */
export interface PollPage {
  events: Record<string, unknown>[];
  cursor: string | null;
  truncated: boolean;
  hasMore: boolean;
  nextPollMs: number;
}

/** The event types of a server. Arguments of `noted` select by topic. */
export const TYPES = {
  noted: {
    description: 'A note was written',
    inputSchema: { type: 'object', properties: { topic: { type: 'string' } } },
    payloadSchema: { type: 'object', properties: { topic: { type: 'string' } } },
    match: { topic: '/topic' },
    _meta: { 'example.com/icon': 'pen' },
  },
  streamed: { description: 'Streams alone have it', delivery: ['push'] as const },
  judged: {
    description: 'A function judges it',
    match: (_args: unknown, data: Record<string, unknown>) => {
      if (data['isBad'] === true) throw new Error('bad');
      return true;
    },
  },
};

/** A server whose callers are named by `authorization`, as a client of the protocol sees it. */
export function serving({ bus: given, events, log, webhooks, ...rest }: ServingOptions = {}) {
  const hooks = { allowInsecureLocalhost: true, onError: () => {}, ...webhooks };
  const defined = defineEvents(TYPES, { ...events, webhooks: hooks });
  const kept = eventLog({ ...log, webhooks: defined });
  const bus = given ?? new InMemoryBus({ events: kept, onError: () => {} });
  const principal = (request: Request) => request.headers.get('authorization') ?? undefined;
  const handler = createListenHandler(discovering, { bus, events: defined, principal, ...rest });
  const send = (method: string, params: object = {}, caller: string | null = 'ada') => {
    const request = callRequest('http://127.0.0.1/mcp', method, { ...params });
    if (caller !== null) request.headers.set('authorization', caller);
    return handler.fetch(request);
  };
  const call = async (...request: Parameters<typeof send>): Promise<Reply> =>
    (await send(...request)).json() as Promise<Reply>;
  return {
    bus,
    call,
    handler,
    send,
    /** Polls `noted`. */
    poll: async (params: object = {}): Promise<PollPage> => {
      const { error, result } = await call('events/poll', { name: 'noted', ...params });
      expect(error).toBeUndefined();
      return result as unknown as PollPage;
    },
    /** Publishes notes with these ids. */
    publish: async (...ids: string[]): Promise<void> => {
      for (const id of ids) await handler.notify.event('noted', { topic: id }, { id });
    },
    /** Opens a stream. */
    stream: async (params: object = {}, caller?: string): Promise<EventReader> => {
      const response = await send('events/stream', { name: 'noted', ...params }, caller);
      expect(response.headers.get('content-type')).toBe('text/event-stream');
      return new EventReader(response);
    },
    /** Subscribes an endpoint. */
    subscribe: (url: string, params: object = {}, caller?: string | null): Promise<Reply> => {
      const delivery = { mode: 'webhook', url, secret: HOOK_SECRET };
      return call('events/subscribe', { name: 'noted', delivery, ...params }, caller);
    },
    /** Unsubscribes an endpoint. */
    unsubscribe: (url: string, params: object = {}, caller?: string): Promise<Reply> => {
      const delivery = { mode: 'webhook', url };
      return call('events/unsubscribe', { name: 'noted', delivery, ...params }, caller);
    },
  };
}

/** Returns the ids of occurrences. */
export function idsOf(events: readonly Record<string, unknown>[]): unknown[] {
  return events.map(({ eventId }) => eventId);
}
