import type { ServerEvent } from '../model/event.js';

/** The bus of the official TypeScript SDK; one written for it can be given to `createListenHandler`. */
export interface ServerEventBus {
  /** Publishes a change to every listener. */
  publish(event: ServerEvent): unknown;
  /** Registers a listener; the answer takes it out again and may be called twice. */
  subscribe(listener: (event: ServerEvent) => void): () => void;
}

/**
 * A bus, which carries events between publishers and streams: a superset of the SDK's, so it can be
 * given to `createMcpHandler` too. To make one, implement a {@link Broker} for `brokerBus`, which
 * adds what streams need.
 */
export interface ListenBus extends ServerEventBus {
  /**
   * Publishes a change; resolves once it cannot be lost any more.
   *
   * @throws ListenError (as a rejection) `malformed-event`, `unknown-event-kind`, `invalid-uri`,
   *   `invalid-task`, `invalid-audience`, `invalid-principal`, `bus-unavailable`.
   */
  publish(event: ServerEvent): Promise<void>;
  /**
   * Publishes changes, in this order: all of them or, where one is no event, none. Otherwise as
   * {@link ListenBus.publish}.
   */
  publishAll(events: ServerEvent[]): Promise<void>;
  /**
   * Registers a listener; the answer takes it out again and may be called twice. One that does not
   * know all kinds of events, as the SDK's does not know those of tasks, has to pass over the others.
   */
  subscribe<Known extends ServerEvent>(listener: (event: Known) => void): () => void;
}
