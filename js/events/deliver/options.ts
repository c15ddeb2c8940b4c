import type { WebhookSender } from './sender.js';

/** Options of the delivery of occurrences to webhooks. */
export interface EventWebhookOptions {
  /**
   * Keys with which the secrets of subscriptions are encrypted where they are stored (AES-256-GCM):
   * each 32 bytes in base64. The first one encrypts; all of them decrypt.
   *
   * @default secrets are stored as clients sent them
   */
  encryptionKey?: string | readonly string[];
  /**
   * The `webhook-id` of a message about an occurrence: the id of the occurrence, which clients of
   * today expect, or a hash of that and the subscription. Retries have the same id either way.
   *
   * @default 'event'
   */
  webhookId?: 'event' | 'message';
  /**
   * Milliseconds that a subscription lasts if the client names no time, at most `maxTtlMs`. 0 ends
   * it at once.
   *
   * @default 3_600_000
   */
  defaultTtlMs?: number;
  /**
   * The shortest lifetime in milliseconds, also for clients that ask for less. 0 sets no minimum.
   *
   * @default 300_000
   */
  minTtlMs?: number;
  /**
   * The longest lifetime in milliseconds. A bus in memory grants at most 3,600,000. 0 ends each
   * subscription at once.
   *
   * @default 86_400_000
   */
  maxTtlMs?: number;
  /**
   * Grants subscriptions without an end to clients that ask for one. A bus in memory does not.
   *
   * @default false
   */
  noExpiry?: boolean;
  /**
   * Decides again, while a subscription lasts, whether its caller may still receive it. It runs
   * where the bus runs, without a request: credentials are not stored. `true` keeps the groups that
   * the caller had when it subscribed; `{ groups }` replaces them; anything else ends the
   * subscription. If it throws, or takes longer than ten seconds, deliveries wait, and it is
   * asked again after a minute.
   *
   * @default callers are authorized when they subscribe and renew
   */
  authorize?: (
    subscription: AuthorizedSubscription,
  ) => SubscriptionDecision | Promise<SubscriptionDecision>;
  /**
   * Milliseconds for which a subscription or a result of `authorize` is valid without another call.
   * 0 disables: `authorize` is not called. Without `authorize` it is `invalid-options`.
   *
   * @default 3_600_000
   */
  authorizationTtlMs?: number;
  /**
   * Maximum number of subscriptions of one caller. 0 accepts none.
   *
   * @default 100
   */
  maxSubscriptionsPerPrincipal?: number;
  /**
   * Maximum number of subscriptions of a bus. 0 accepts none. Callers that subscribe in the same
   * seconds, whose webhooks are in different objects, may exceed it by their number.
   *
   * @default 10_000
   */
  maxSubscriptions?: number;
  /**
   * Origins, such as `https://hooks.example`, whose operators have agreed to receive events: their
   * endpoints are not asked for consent.
   *
   * @default []
   */
  allowedOrigins?: readonly string[];
  /**
   * Refuses endpoints of all other origins.
   *
   * @default false
   */
  onlyAllowedOrigins?: boolean;
  /**
   * Accepts endpoints at `localhost` and at loopback addresses, also over http. For tests and
   * development.
   *
   * @default false
   */
  allowInsecureLocalhost?: boolean;
  /**
   * Sends messages, for example through a proxy that guards a private network.
   *
   * @default on Node, requests to the address that was checked; elsewhere `fetch`
   */
  send?: WebhookSender;
  /**
   * Called with errors of `authorize`, of functions in the definitions, and of the storage, and if
   * no key opens a stored secret. It receives no URL, secret, argument or payload.
   *
   * @default console.error
   */
  onError?: (error: Error) => void;
}

/**
 * Whether a caller may still receive the events of a subscription, or its current groups if it may.
 */
export type SubscriptionDecision =
  | boolean
  | {
      /** The groups that the caller has now. */
      groups: readonly string[];
    };

/** A subscription of a webhook that is authorized again. */
export interface AuthorizedSubscription {
  /** The name of the caller. */
  principal: string;
  /** The groups of the caller, as they are known. */
  groups: readonly string[];
  /** The event type. */
  name: string;
  /** The arguments of the subscription. */
  arguments: Record<string, unknown>;
}
