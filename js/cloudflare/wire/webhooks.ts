import type { Disconnect } from '../../bus/events.js';

/** A call by which an object that delivers to webhooks states what it follows. */
export interface FollowCall {
  /** The number of the object. */
  object: number;
  /** Ascends: of two calls, the later one counts. */
  call: number;
  /** The event types of its subscriptions. */
  names: readonly string[];
  /** The number of its subscriptions. */
  subscriptions: number;
}

/** A call by which a bus wakes an object that delivers to webhooks. */
export interface WakeCall {
  /** The event types with new occurrences. */
  names: readonly string[];
  /** Identifies the log. */
  epoch: string;
  /** The last position of the log. */
  head: number;
  /** The callers whose subscriptions end. */
  disconnects: readonly PendingDisconnect[];
  /** When the bus made this call, by its clock, in milliseconds since 1970. */
  sentAt: number;
}

/** A disconnect that an object has to learn of. */
export interface PendingDisconnect {
  principal: string;
  /** When it was published, by the clock of the bus, in milliseconds since 1970. */
  publishedAt: number;
}

/**
 * Returns the disconnects of a call that arrived at a time of the object's clock. How long ago
 * something was is the same by all clocks.
 */
export function disconnectsIn({ disconnects, sentAt }: WakeCall, arrivedAt: number): Disconnect[] {
  return disconnects.map(({ principal, publishedAt }) => ({
    ...{ principal, publishedAt },
    at: arrivedAt - Math.max(sentAt - publishedAt, 0),
  }));
}

/** Returns the number of the object that has the webhooks of a caller. */
export function webhookObjectOf(principal: string): number {
  const bytes = new TextEncoder().encode(principal);
  const hash = bytes.reduce((hash, byte) => Math.imul(hash ^ byte, PRIME), BASIS);
  return 1 + ((hash >>> 0) % OBJECTS);
}

/** FNV-1a with 32 bits. */
const BASIS = 0x811c9dc5;
const PRIME = 0x01000193;
/**
 * The objects over which the webhooks of a bus are spread, of 500 subscriptions at most. The number
 * can never change, or subscriptions would be looked for elsewhere.
 */
const OBJECTS = 20;
