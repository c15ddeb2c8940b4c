/** Identifies a publish that may be repeated, and its events. */
export interface IdempotencyKey {
  /** The idempotency key. */
  key?: string;
  /** The signature of the request. */
  signature?: string;
  /** The digest of the body, which identifies the events. */
  digest: string;
}

/**
 * The result of a publish: the position of its last event, or why it was not made. `key-reused`:
 * its key belongs to a publish of other events. `signatures-full`: it is signed, and the bus has no
 * room to remember its signature.
 */
export type PublishedAt = number | 'key-reused' | 'signatures-full';

/**
 * Milliseconds by which the timestamp of a signed publish may differ from the clock here, including
 * the time in transit.
 */
export const WINDOW_MS = 300_000;
