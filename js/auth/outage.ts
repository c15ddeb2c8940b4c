import type { ListenError, ListenErrorCode } from '../model/error.js';
import type { Refusal } from '../wasm/server/bindings.js';

/**
 * Marks a function that asks the upstream server of a gateway about callers, and returns it. While
 * that server cannot be asked, streams that are open keep its last result for a limited time.
 */
export function askingUpstream<Ask extends object>(ask: Ask): Ask {
  asking.add(ask);
  return ask;
}

/** Returns whether `ask` failed because the upstream server of a gateway cannot be asked now. */
export function isOutage(ask: object, error: unknown): boolean {
  return asking.has(ask) && OUTAGES.includes((error as ListenError).code);
}

/** Decides whether an open stream may continue after a result about its caller. */
export class LastResult {
  readonly #ms: number;
  #admittedAt = performance.now();

  /** @param ms - milliseconds for which a result is valid. The caller has just been admitted. */
  constructor(ms: number) {
    this.#ms = ms;
  }

  /** Whether the caller is admitted, or was so recently and cannot be checked now. */
  accepts(result: { isOutage?: boolean; refusal?: Refusal }): boolean {
    const now = performance.now();
    if (result.refusal === undefined) this.#admittedAt = now;
    else if (result.isOutage !== true) return false;
    return now - this.#admittedAt <= this.#ms + OUTAGE_MS;
  }
}

const asking = new WeakSet<object>();
const OUTAGES: readonly ListenErrorCode[] = [
  'upstream-unreachable',
  'upstream-timeout',
  'authorizer-timeout',
];
/** Milliseconds for which a result counts after it has expired, while there is no other. */
const OUTAGE_MS = 600_000;
