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

/** Marks the error of a request that the upstream server refused with 429, and returns it. */
export function rateLimited(error: ListenError): ListenError {
  limited.add(error);
  return error;
}

/**
 * Returns for how many milliseconds the last result of `ask` counts after a check has failed: 0
 * unless `ask` failed because the upstream server of a gateway cannot be asked now. Callers can
 * cause a rate limit to keep rights that were withdrawn, so it has a short time.
 */
export function outageMsOf(ask: object, error: unknown): number {
  if (!asking.has(ask) || !OUTAGES.includes((error as ListenError).code)) return 0;
  return limited.has(error as ListenError) ? RATE_LIMIT_MS : OUTAGE_MS;
}

/** Decides whether an open stream may continue after a result about its caller. */
export class LastResult {
  readonly #ms: number;
  #admittedAt = performance.now();
  /** When the first check since then failed. */
  #failedAt: number | undefined;

  /** @param ms - milliseconds for which a result is valid. The caller has just been admitted. */
  constructor(ms: number) {
    this.#ms = ms;
  }

  /** Whether the caller is admitted, or was so recently and cannot be checked now. */
  accepts({ outageMs = 0, refusal }: { outageMs?: number; refusal?: Refusal }): boolean {
    const now = performance.now();
    if (refusal === undefined) {
      this.#admittedAt = now;
      this.#failedAt = undefined;
      return true;
    }
    if (outageMs === 0) return false;
    // A stream that had nothing to receive was not checked after its last result had expired.
    this.#failedAt ??= now;
    const isRecent = now - this.#failedAt <= outageMs;
    return isRecent && now - this.#admittedAt <= this.#ms + OUTAGE_MS;
  }
}

const asking = new WeakSet<object>();
const limited = new WeakSet<ListenError>();
const OUTAGES: readonly ListenErrorCode[] = [
  'upstream-unreachable',
  'upstream-timeout',
  'authorizer-timeout',
];
/** Milliseconds for which a result counts after it has expired, while there is no other. */
const OUTAGE_MS = 600_000;
/** Milliseconds for which it counts after the first check that got a 429. */
const RATE_LIMIT_MS = 60_000;
