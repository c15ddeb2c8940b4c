import type { SubscribeCall, SubscribedWebhook } from '../../bus/events.js';
import {
  subscriptionId,
  subscriptionIdentity,
  type WebhookSubscribe,
} from '../../wasm/events/bindings.js';
import { sha256 } from '../../web/digest.js';
import { hex } from '../../web/hex.js';
import { bytesOfSecret } from '../../webhook/secret.js';
import { acceptedCallback } from './callback.js';
import type { WebhookSettings } from './settings.js';

/** Returns the id of the subscription of a webhook, which follows from what it is about. */
export async function idOf(webhook: SubscribedWebhook): Promise<string> {
  const { arguments: args, name, principal, url } = webhook;
  const identity = subscriptionIdentity(principal, url, name, args);
  return subscriptionId(await sha256(identity)) as string;
}

/**
 * Completes a request to subscribe for the core; `id` is that of the subscription.
 *
 * @throws Refused if its URL or its secret is not acceptable.
 */
export async function completed(
  webhook: SubscribeCall,
  id: string,
  { rules, secrets }: WebhookSettings,
): Promise<WebhookSubscribe> {
  const { host, isAllowed } = refusing(() => acceptedCallback(webhook.url, rules));
  if (bytesOfSecret(webhook.secret) === undefined)
    throw new Refused('params.delivery.secret must be whsec_ and 24 to 64 bytes in base64');
  return {
    ...webhook,
    id,
    host,
    isAllowed,
    secret: await secrets.seal(webhook.secret, id),
    secretDigest: hex(await sha256(`${id}.${webhook.secret}`)),
    challenge: hex(crypto.getRandomValues(new Uint8Array(CHALLENGE_BYTES))),
  };
}

/** A request with invalid parameters; the message is for the client. */
export class Refused extends Error {}

function refusing<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof Error && 'code' in error) throw new Refused(error.message);
    throw error;
  }
}

const CHALLENGE_BYTES = 32;
