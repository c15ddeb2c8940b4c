import { WebhookRefusal } from './refusal.js';

/** The header fields of a message. */
export interface MessageHead {
  id: string;
  /** Seconds since 1970, as they were sent. */
  timestamp: string;
  /** The value of `webhook-signature`. */
  signatures: string;
  subscriptionId: string | undefined;
}

/**
 * Reads the header fields of a message.
 *
 * @throws WebhookRefusal `unauthorized` if fields are missing or malformed, `stale-timestamp` if
 *   the timestamp differs from the time here by more than `toleranceMs` milliseconds.
 */
export function headOf({ headers }: Request, toleranceMs: number): MessageHead {
  const id = headers.get('webhook-id') ?? '';
  const timestamp = headers.get('webhook-timestamp') ?? '';
  const signatures = headers.get('webhook-signature');
  if (!ID.test(id) || !SECONDS.test(timestamp) || signatures === null)
    throw new WebhookRefusal('unauthorized');
  if (Math.abs(Date.now() - Number(timestamp) * 1_000) > toleranceMs)
    throw new WebhookRefusal('stale-timestamp');
  const subscriptionId = headers.get('x-mcp-subscription-id') || undefined;
  return { id, timestamp, signatures, subscriptionId };
}

/** Visible ASCII: other characters have no agreed bytes in a signature. */
const ID = /^[\x21-\x7e]+$/;
const SECONDS = /^\d{1,15}$/;
