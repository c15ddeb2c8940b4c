import type { Delivery } from './delivery.js';
import type { EventRequests } from './requests.js';

/** A subscription that a watch follows in one of the modes. */
export interface Followed {
  readonly requests: EventRequests;
  readonly delivery: Delivery;
  /** The parameters that every request repeats. */
  readonly params: EventParams;
  /** Whether the subscription was live before. */
  readonly wasLive: boolean;
  /** Ends the subscription. */
  readonly signal: AbortSignal;
  /** Called when the server delivers, or would deliver, events. */
  live(): void;
}

/** What is subscribed to. */
export interface EventParams {
  name: string;
  arguments: Record<string, unknown>;
  maxAgeMs?: number;
}
