import type { CallerContext } from '../../auth/authorize.js';
import type { Caller, PrincipalOptions } from '../../auth/principal.js';
import type { AttachableBus } from '../../bus/attachable-bus.js';
import type {
  EmitOptions,
  EventPublisher,
  EventReceipt,
  WebhookDelivery,
  WebhookHost,
} from '../../bus/events.js';
import type { ServerStream } from '../../bus/server-stream.js';
import type { Reading } from '../../handler/advertise-all.js';
import type { FetchHandler } from '../../handler/handler.js';
import type { InboundExchange } from '../../http/inbound.js';
import type { ListenLimits } from '../../model/limits.js';
import type { InnerStreamOptions } from '../../streams/index.js';
import type { PostedEvents } from '../../wasm/events/bindings.js';
import type { Refusal } from '../../wasm/server/bindings.js';

/**
 * What events need of the handler that serves them.
 *
 * @internal
 */
export interface EventHost {
  bus: AttachableBus & Partial<EventPublisher>;
  /** Whether the handler holds streams, on which it can notify about changes of the event types. */
  holdsStreams: boolean;
  /** Determines the names of callers. */
  principalOptions: PrincipalOptions;
  /** Milliseconds that `authorize` may take. */
  authorizeMs: number;
  /** Milliseconds for which an authorization is valid while a stream is open; 0: until its end. */
  authorizationTtlMs: number;
  /** Milliseconds between the heartbeats of a stream, +-20 %; 0: none. */
  keepAliveMs: number;
  /** Milliseconds within which a body has to arrive; 0 disables this. */
  bodyMs: number;
  /** Milliseconds within which a client must read pending output; 0 disables this. */
  writeMs: number;
  /** Limits on the streams of one address, and of the server. */
  limits: Required<Pick<ListenLimits, 'maxSubscriptions' | 'maxSubscriptionsPerAddress'>>;
  /** Limits on reading responses of the handler. */
  reading: Reading;
  onError: (error: Error) => void;
  /** Opens a stream that the server itself reads. */
  open(options: InnerStreamOptions): Promise<ServerStream | Refusal>;
  /** Returns the response to a caller that was denied. */
  denied(inbound: InboundExchange, refusal: Refusal, caller: Caller): Promise<Response>;
  /** Returns what functions of the server receive about a caller. */
  contextOf(inbound: InboundExchange, caller: Caller): CallerContext;
}

/**
 * The events of one handler.
 *
 * @internal
 */
export interface EventServer {
  /** Whether sessions of earlier revisions are served too. */
  readonly isLegacy: boolean;
  /** Wraps the handler, so that its responses announce events. */
  advertising(handler: FetchHandler): FetchHandler;
  /** Returns the response to `initialize` with events announced; undefined: it has no result. */
  announced(body: Uint8Array): string | undefined;
  /** Returns the response to a request; undefined: it is not about events. */
  respond(inbound: InboundExchange): Promise<Response | undefined>;
  /** Checks and publishes an occurrence. */
  publish(
    name: string,
    data: Record<string, unknown>,
    options?: EmitOptions,
  ): Promise<EventReceipt>;
}

/** The event types of a server: what `defineEvents` of `mcp-listen/events` returns. */
export interface DefinedEvents {
  /**
   * Whether an `authorize` decides who may receive what.
   *
   * @internal
   */
  readonly authorizes: boolean;
  /**
   * Publishes an occurrence at a bus, as `bus.emit` does, after checking the payload.
   *
   * @throws ListenError (as a rejection) `invalid-event-name` if there is no such event type,
   *   `invalid-event-data` if its schema does not allow the payload, and those of `bus.emit`.
   */
  emit(
    bus: EventPublisher,
    name: string,
    data: Record<string, unknown>,
    options?: EmitOptions,
  ): Promise<EventReceipt>;
  /** @internal */
  serve(host: EventHost): EventServer;
  /**
   * Reads the body of a publish and checks the payloads of its occurrences.
   *
   * @internal
   */
  posted(body: Uint8Array): Promise<PostedEvents>;
  /**
   * Starts the delivery to webhooks at a bus; undefined without the option `webhooks`.
   *
   * @internal
   */
  readonly deliver: ((host: WebhookHost) => WebhookDelivery) | undefined;
}
