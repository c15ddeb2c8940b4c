import type { ListenError } from '../model/error.js';
import type { EventError } from '../model/events/event-error.js';
import type { EventGap, EventOccurrence } from '../model/events/occurrence.js';
import type { StandardSchema } from '../model/events/standard-schema.js';
import type { FindSecrets, WebhookSecrets } from './secrets.js';
import type { SeenEvents } from './seen-events.js';

/** A Standard Schema for the `data` of each event, by the name of the event. */
export type EventSchemas = Record<string, StandardSchema>;

/** An event with the type that its schema gives to `data`; any event without schemas. */
export type WebhookEvent<Schemas extends EventSchemas = EventSchemas> = {
  [Name in keyof Schemas & string]: Schemas[Name] extends StandardSchema<infer Output>
    ? EventOccurrence<Name, Output>
    : never;
}[keyof Schemas & string];

/** How a message arrived. */
export interface DeliveryContext<Rest extends unknown[] = unknown[]> {
  /**
   * The subscription that the message is for: `X-MCP-Subscription-Id`. The signature does not cover
   * it, so rely on it only if each subscription has its own secret.
   */
  subscriptionId: string;
  /** The id of the message, the same in every attempt to deliver it: `webhook-id`. */
  messageId: string;
  /** The request; its body has been read. */
  request: Request;
  /**
   * The arguments that the host passed to `fetch` after the request, such as a Worker's `env` and
   * `ctx`.
   */
  args: Rest;
}

/**
 * Options of `createWebhookReceiver`. `Rest` is the list of arguments that the host passes to
 * `fetch` after the request.
 */
export interface WebhookReceiverOptions<
  Rest extends unknown[] = unknown[],
  Schemas extends EventSchemas = EventSchemas,
> {
  /** The secrets of all subscriptions, or a function that returns those of one subscription. */
  secrets: WebhookSecrets | FindSecrets<Rest>;
  /**
   * Called with each event. The server gets a 2xx once the returned promise has resolved. If it
   * rejects, the server gets 500 and delivers the event again. Servers wait about ten seconds: put
   * longer work in a queue. Events may arrive in any order.
   */
  onEvent: (event: WebhookEvent<Schemas>, context: DeliveryContext<Rest>) => unknown;
  /**
   * Called when the server can no longer deliver some events: read again what you derive from them.
   */
  onGap: (gap: EventGap, context: DeliveryContext<Rest>) => unknown;
  /** Called when the server has ended the subscription. No event of it follows. */
  onTerminated: (error: EventError, context: DeliveryContext<Rest>) => unknown;
  /**
   * Validates the `data` of events. If set, an event without a schema for its name, or with other
   * data, gets 400 and is reported to `onError`.
   *
   * @default `data` is not validated, and its type is `unknown`
   */
  schemas?: Schemas;
  /**
   * Remembers which messages were handled. Use a shared store if several processes receive the
   * deliveries of one subscription.
   *
   * @default the last 10,000 messages, in memory
   */
  seen?: SeenEvents;
  /**
   * Maximum size of a body in bytes. A larger body gets 413. 0 accepts only empty bodies, so no
   * message.
   *
   * @default 262_144
   */
  maxRequestBodySize?: number;
  /**
   * Milliseconds by which the timestamp of a message may differ from the time here. 0 accepts only
   * the same time, so nearly no message.
   *
   * @default 300_000
   */
  toleranceMs?: number;
  /**
   * Called with the error behind every 500 and 503, and with each signed message that is malformed.
   *
   * @default console.error
   */
  onError?: (error: ListenError) => void;
}
