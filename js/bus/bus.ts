import type { ServerEvent } from '../model/event.js';

/**
 * The bus interface of the official TypeScript SDK; `createListenHandler` accepts its
 * implementations.
 */
export interface ServerEventBus {
  /** Publishes a change to every listener. */
  publish(event: ServerEvent): unknown;
  /** Registers a listener; returns a function that removes it and may be called twice. */
  subscribe(listener: (event: ServerEvent) => void): () => void;
}

/**
 * A bus, which carries events between publishers and streams. It extends the SDK's interface, so
 * `createMcpHandler` accepts it too. To implement one, write a {@link Broker} for `brokerBus`,
 * which adds what streams need.
 */
export interface ListenBus extends ServerEventBus {
  /**
   * Publishes a change; resolves once it cannot be lost any more.
   *
   * @throws ListenError (as a rejection) `malformed-event`, `unknown-event-kind`, `invalid-uri`,
   *   `invalid-task`, `invalid-group`, `invalid-principal`, `bus-unavailable`.
   */
  publish(event: ServerEvent): Promise<void>;
  /**
   * Publishes changes in order: all of them, or none if one is not a valid event. Otherwise like
   * {@link ListenBus.publish}.
   */
  publishAll(events: ServerEvent[]): Promise<void>;
  /**
   * Registers a listener; returns a function that removes it and may be called twice. A listener
   * must ignore events of unknown kinds; the SDK's listeners do not know task events, for example.
   */
  subscribe<Known extends ServerEvent>(listener: (event: Known) => void): () => void;
}
