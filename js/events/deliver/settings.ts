import type { WebhookHost } from '../../bus/events.js';
import { expectAmounts } from '../../model/amount.js';
import { ListenError } from '../../model/error.js';
import { report, safeOnError } from '../../observe/on-error.js';
import { HOUR_MS } from '../../timing/spans.js';
import type { CallbackRules, DelivererOptions } from '../../wasm/events/bindings.js';
import type { EventWebhookOptions } from './options.js';
import { SecretBox } from './secret-box.js';
import { currentSender, type WebhookSender } from './sender.js';

/** What a host can promise. */
type HostBounds = Pick<WebhookHost, 'maxHeld' | 'maxTtlMs'>;

/** The checked options of the delivery to webhooks. */
export class WebhookSettings {
  /** Encrypts the secrets that are stored. */
  readonly secrets: SecretBox;
  readonly onError: (error: Error) => void;
  readonly #options: EventWebhookOptions;

  /** @throws ListenError `invalid-options`. */
  constructor(options: EventWebhookOptions) {
    const { authorizationTtlMs, defaultTtlMs, maxTtlMs, minTtlMs } = options;
    const { maxSubscriptions, maxSubscriptionsPerPrincipal } = options;
    expectAmounts('webhooks', { authorizationTtlMs, defaultTtlMs, maxTtlMs, minTtlMs });
    expectAmounts('webhooks', { maxSubscriptions, maxSubscriptionsPerPrincipal });
    if (authorizationTtlMs !== undefined && options.authorize === undefined)
      throw new ListenError(
        'invalid-options',
        'webhooks.authorizationTtlMs needs webhooks.authorize',
      );
    this.#options = options;
    // An exception of it would leave a delivery under way without an end.
    this.onError = safeOnError(options.onError ?? report);
    this.secrets = new SecretBox(options.encryptionKey ?? []);
  }

  /** Whether the id of a message differs from that of its occurrence. */
  get hasMessageIds(): boolean {
    return this.#options.webhookId === 'message';
  }

  /** Asked while subscriptions last. */
  get authorize(): EventWebhookOptions['authorize'] {
    return this.#options.authorize;
  }

  /** Posts messages. */
  get send(): WebhookSender {
    return this.#options.send ?? currentSender().send;
  }

  /** Which callback URLs are accepted, as JSON text. */
  get rules(): string {
    const { allowInsecureLocalhost, allowedOrigins, onlyAllowedOrigins, send } = this.#options;
    const rules: CallbackRules = {
      anyPort: send === undefined && currentSender().checksAddresses,
      allowInsecureLocalhost: allowInsecureLocalhost === true,
      allowedOrigins: [...(allowedOrigins ?? [])],
      onlyAllowedOrigins: onlyAllowedOrigins === true,
    };
    return JSON.stringify(rules);
  }

  /** The lifetimes and limits for the core, at a host with these bounds. */
  delivererOptions({
    maxHeld,
    maxTtlMs: hostMaxTtlMs = Number.POSITIVE_INFINITY,
  }: HostBounds): string {
    const { authorizationTtlMs = HOUR_MS, authorize, noExpiry = false } = this.#options;
    const { maxSubscriptions = 10_000, maxSubscriptionsPerPrincipal = 100 } = this.#options;
    const { defaultTtlMs = HOUR_MS, maxTtlMs = DAY_MS, minTtlMs = 300_000 } = this.#options;
    const max = Math.min(maxTtlMs, hostMaxTtlMs);
    const options: DelivererOptions = {
      ttl: {
        defaultTtlMs: Math.min(defaultTtlMs, max),
        minTtlMs: Math.min(minTtlMs, max),
        maxTtlMs: max,
        noExpiry: noExpiry && hostMaxTtlMs === Number.POSITIVE_INFINITY,
      },
      maxPerPrincipal: maxSubscriptionsPerPrincipal,
      maxTotal: maxSubscriptions,
      ...(maxHeld !== undefined && { maxHeld }),
      ...(authorize !== undefined && authorizationTtlMs > 0 && { authorizationTtlMs }),
    };
    return JSON.stringify(options);
  }
}

const DAY_MS = 86_400_000;
