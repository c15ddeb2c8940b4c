import type { SubscriptionFilter } from '../../../model/filter.js';
import type { CoreEnd } from '../../../model/subscription-error.js';

/**
 * Limits how many URIs, and how many task ids, one subscription requests, to what the server
 * accepts. There is no limit until the server refuses a filter.
 */
export class NameLimit {
  #max = Number.POSITIVE_INFINITY;

  /** Returns the part of a filter with its first names. */
  partOf(filter: SubscriptionFilter): SubscriptionFilter {
    if (namesIn(filter) <= this.#max) return filter;
    const { resourceSubscriptions, taskIds } = filter;
    return {
      ...filter,
      ...(resourceSubscriptions && {
        resourceSubscriptions: resourceSubscriptions.slice(0, this.#max),
      }),
      ...(taskIds && { taskIds: taskIds.slice(0, this.#max) }),
    };
  }

  /**
   * Handles the refusal of a filter: allows half of its names. Returns whether there is such a
   * half.
   */
  narrow(filter: SubscriptionFilter): boolean {
    const names = namesIn(filter);
    if (names < 2) return false;
    this.#max = Math.floor(names / 2);
    return true;
  }

  /** Allows twice as many names. */
  widen(): void {
    this.#max *= 2;
  }
}

/** Whether the server may accept a subscription to fewer names. */
export function isOfTooMany({ rpcCode, status }: CoreEnd): boolean {
  return status === CONTENT_TOO_LARGE || rpcCode === INVALID_PARAMS;
}

/** Returns the number of URIs or of task ids, whichever is larger. */
function namesIn({ resourceSubscriptions = [], taskIds = [] }: SubscriptionFilter): number {
  return Math.max(resourceSubscriptions.length, taskIds.length);
}

const CONTENT_TOO_LARGE = 413;
/** The JSON-RPC error of a server that limits the names in a filter. */
const INVALID_PARAMS = -32_602;
