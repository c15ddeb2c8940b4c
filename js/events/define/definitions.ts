import type { CallerContext } from '../../auth/authorize.js';
import type { EventMode } from '../../model/events/event-mode.js';
import type { EventWebhookOptions } from '../deliver/options.js';
import type { Described, EventSchema } from './schema.js';

/** An event type of a server. */
export interface EventDefinition<
  Input extends EventSchema = EventSchema,
  Payload extends EventSchema = EventSchema,
> {
  /**
   * What the event means, for models and people.
   *
   * @default ''
   */
  description?: string;
  /**
   * The schema of the arguments of a subscription.
   *
   * @default any object
   */
  inputSchema?: Input;
  /**
   * The schema of the payload.
   *
   * @default any object
   */
  payloadSchema?: Payload;
  /**
   * The modes in which it is delivered, of those that the bus can serve.
   *
   * @default all that the bus can serve
   */
  delivery?: readonly EventMode[];
  /**
   * Which occurrences a subscription receives. An object has, for each argument, a JSON pointer to
   * the value in the payload that must equal it; an argument that a subscription omits is not
   * compared. A function decides for each occurrence, and receives arguments and payload as they
   * were sent: no schema has filled in a default or converted a value. An occurrence for which it
   * takes longer than `timeouts.authorizeMs` (a poll or a stream) or ten seconds (a webhook) has
   * failed.
   *
   * @default every occurrence
   */
  match?:
    | Record<string, string>
    | ((args: Described<Input>, data: Described<Payload>) => boolean | Promise<boolean>);
  /**
   * Returns the payload for a subscription with these arguments. It must depend on nothing else.
   * If it throws, returns no valid payload, or takes longer than `match` may, the occurrence has
   * failed.
   *
   * @default the payload as it was published
   */
  transform?: (
    data: Described<Payload>,
    args: Described<Input>,
  ) => Record<string, unknown> | Promise<Record<string, unknown>>;
  /**
   * Further members of the entry in `events/list`.
   *
   * @default undefined
   */
  _meta?: Record<string, unknown>;
}

/** The event types of a server, by name. */
export type EventTypes = Record<string, EventDefinition>;

/** What a caller asks to receive. */
export interface AuthorizeEventContext<Rest extends unknown[] = unknown[]>
  extends CallerContext<Rest> {
  /** The event type. */
  name: string;
  /** The arguments of the subscription; in a list, none. */
  arguments: Record<string, unknown>;
  /** How it is delivered; undefined in a list. */
  mode: EventMode | undefined;
  /** True if the subscription exists and is authorized again; otherwise undefined. */
  isOpen?: true;
}

/**
 * Decides whether a caller may receive events of a type. A string is a denial with this reason,
 * which the caller may read.
 */
export type AuthorizeEvent<Rest extends unknown[] = unknown[]> = (
  context: AuthorizeEventContext<Rest>,
) => boolean | string | Promise<boolean | string>;

/** Options of `defineEvents`. */
export interface EventOptions<Rest extends unknown[] = unknown[]> {
  /**
   * Decides who may receive what. It is called for each poll, each stream and each subscription,
   * again while they last, and for each type in a list. A handler with an `authorize` needs it,
   * because that one does not decide about events; `() => true` allows everything.
   *
   * @default every caller may receive every type
   */
  authorize?: AuthorizeEvent<Rest>;
  /**
   * The numbers of errors: those of the specification, those of its design sketch, which clients
   * that do not declare the extension follow, or by what the client declares.
   *
   * @default 'declared'
   */
  codes?: 'declared' | 'sep' | 'sketch';
  /**
   * The HTTP status of JSON-RPC errors. Official clients read the error of a 200 and a 400 only.
   *
   * @default 400
   */
  errorStatus?: 200 | 400;
  /**
   * Serves clients of 2025-11-25 too: `initialize` announces events, and `events/list`,
   * `events/subscribe` and `events/unsubscribe` are served.
   *
   * @default false
   */
  legacy?: boolean;
  /**
   * Maximum number of open event streams of one caller that `principal` named. 0 refuses all
   * callers with a name.
   *
   * @default 16
   */
  maxSubscriptionsPerPrincipal?: number;
  /**
   * Delivers occurrences to webhooks of callers with a name, if the bus was given these events too:
   * `eventLog({ webhooks: events })`.
   *
   * @default no delivery to webhooks
   */
  webhooks?: EventWebhookOptions;
}
