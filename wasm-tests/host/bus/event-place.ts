import type { ProcessBus } from 'mcp-listen';
import { createListenHandler, type ListenHandler } from 'mcp-listen';
import { defineEvents } from 'mcp-listen/events';
import { callRequest } from '../call.ts';
import { EventReader } from '../events.ts';

const URL = 'http://localhost/mcp';

/** The response to a poll. */
export interface Polled {
  events: { eventId: string; data: Record<string, unknown> }[];
  cursor: string | null;
  truncated: boolean;
  hasMore: boolean;
}

/** A server with events on a bus, in this process. */
export class EventPlace {
  readonly bus: ProcessBus;
  readonly #server: ListenHandler;

  constructor(bus: ProcessBus) {
    this.bus = bus;
    this.#server = createListenHandler(() => new Response(null, { status: 418 }), {
      bus,
      events: defineEvents({ paid: {}, sent: {} }),
      onError: () => {},
    });
  }

  /** Publishes an occurrence with this number, and this number as its id. */
  paid(number: number): Promise<{ position: number; eventId: string }> {
    return this.#server.notify.event('paid', { number }, { id: `${number}` });
  }

  /** Polls; again, as clients do, while the log cannot be reached. */
  async poll(cursor?: string | null, name = 'paid'): Promise<Polled> {
    const params = { name, ...(cursor !== undefined && { cursor }) };
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.call('events/poll', params);
      } catch (error) {
        if (attempt === 6 || !(error as Error).message.startsWith('503 ')) throw error;
      }
    }
  }

  /** Polls until there are so many occurrences. */
  async polled(cursor: string | null, count: number): Promise<Polled> {
    for (;;) {
      const polled = await this.poll(cursor);
      if (polled.events.length >= count) return polled;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Polls until there are so many occurrences, and returns their numbers. */
  async numbers(cursor: string | null, count: number): Promise<unknown[]> {
    const { events } = await this.polled(cursor, count);
    return events.map(({ data }) => data['number']);
  }

  async call<Result>(method: string, params: object): Promise<Result> {
    const response = await this.#fetch(method, params);
    const { error, result } = (await response.json()) as { error?: object; result?: Result };
    if (result === undefined) throw new Error(`${response.status} ${JSON.stringify(error)}`);
    return result;
  }

  async stream(cursor: string | null = null, name = 'paid'): Promise<EventReader> {
    return new EventReader(await this.#fetch('events/stream', { name, cursor }));
  }

  #fetch(method: string, params: object): Promise<Response> {
    return this.#server.fetch(callRequest(URL, method, { ...params }));
  }
}
