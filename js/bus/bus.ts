import type { ServerEvent } from '../event.js';
import type { SubscriptionFilter } from '../filter.js';
import type { SessionStore, SessionStream } from '../legacy/session-store.js';

/** The bus of the official TypeScript SDK; one written for it can be given to `serveListen`. */
export interface ServerEventBus {
  /** Publishes a change to every listener. */
  publish(event: ServerEvent): unknown;
  /** Registers a listener; the answer takes it out again and may be called twice. */
  subscribe(listener: (event: ServerEvent) => void): () => void;
}

/** A bus that filters for each stream: a superset of the SDK's, so it can be given to `createMcpHandler` too. */
export interface ListenBus extends ServerEventBus {
  /**
   * Publishes a change; resolves once it cannot be lost any more.
   *
   * @throws ListenError (as a rejection) `malformed-event`, `unknown-event-kind`, `invalid-uri`,
   *   `invalid-task`, `bus-unavailable`.
   */
  publish(event: ServerEvent): Promise<void>;
  /**
   * Registers a listener; the answer takes it out again and may be called twice. One that does not
   * know all kinds of events, as the SDK's does not know those of tasks, has to pass over the others.
   */
  subscribe<Known extends ServerEvent>(listener: (event: Known) => void): () => void;
  /**
   * Registers one stream for the events that `filter` accepts. The bus confirms through
   * `link.receive`; every publish that starts after that is delivered. Where the stream is a
   * session's, what the session watches is added, and an earlier stream of it is let go.
   */
  attach(filter: SubscriptionFilter, link: BusLink, session?: SessionStream): BusAttachment;
  /** The sessions of clients of earlier revisions; a bus without them serves no sessions. */
  readonly sessions?: SessionStore;
}

/** The stream's end of an attachment. */
export interface BusLink {
  /** Takes one frame of the bus: the confirmation first, then events. */
  receive(frame: string): void;
  /** The bus is gone, or could not be reached; nothing follows. */
  lost(error: Error): void;
}

/** The bus's end of an attachment. */
export interface BusAttachment {
  /** Takes the stream out of the bus; may be called twice. */
  detach(): void;
}
