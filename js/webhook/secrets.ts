import { ListenError } from '../model/error.js';
import { bytesOfSecret } from './secret.js';

/** The secrets of a subscription, by what the receiver accepts with them. */
export interface SubscriptionSecrets {
  /** Secrets of a stored subscription. Every message signed with one of them is accepted. */
  active?: string | readonly string[] | undefined;
  /**
   * Secrets of subscriptions whose `events/subscribe` has no response yet, or whose response is not
   * stored yet. The receiver responds to a verification that is signed with one of them. It
   * responds with 503 to every other such message, so that the server sends it again later.
   */
  pending?: string | readonly string[] | undefined;
}

/** One or more active secrets, or active and pending ones. */
export type WebhookSecrets = string | readonly string[] | SubscriptionSecrets;

/**
 * Returns the secrets of a subscription; undefined if there are none. `subscriptionId` is the
 * header field `X-MCP-Subscription-Id`. The request that verifies a new subscription has an id that
 * is not stored yet, or none: return the pending secrets then. The further arguments are those that
 * the host passed to `fetch` after the request.
 */
export type FindSecrets<Rest extends unknown[] = unknown[]> = (
  subscriptionId: string | undefined,
  request: Request,
  ...rest: Rest
) => WebhookSecrets | undefined | Promise<WebhookSecrets | undefined>;

/** Active and pending secrets, in lists. */
export interface SecretLists {
  active: readonly string[];
  pending: readonly string[];
}

/**
 * Returns the secrets in lists.
 *
 * @throws ListenError `invalid-options` for a malformed secret; the message does not contain it.
 */
export function listed(secrets: WebhookSecrets | undefined): SecretLists {
  const { active, pending }: SubscriptionSecrets = isList(secrets) ? { active: secrets } : secrets;
  const lists = { active: listOf(active), pending: listOf(pending) };
  if ([...lists.active, ...lists.pending].every((secret) => bytesOfSecret(secret) !== undefined))
    return lists;
  throw new ListenError(
    'invalid-options',
    'a webhook secret is whsec_ and 24 to 64 bytes in base64',
  );
}

/**
 * Checks secrets that serve all subscriptions.
 *
 * @throws ListenError `invalid-options` if there is none, or one is malformed.
 */
export function expectSecrets(secrets: WebhookSecrets): void {
  const { active, pending } = listed(secrets);
  if (active.length + pending.length > 0) return;
  throw new ListenError('invalid-options', 'secrets must name a secret');
}

function isList(
  secrets: WebhookSecrets | undefined,
): secrets is string | readonly string[] | undefined {
  return typeof secrets !== 'object' || Array.isArray(secrets);
}

function listOf(secrets: string | readonly string[] = []): readonly string[] {
  return typeof secrets === 'string' ? [secrets] : secrets;
}
