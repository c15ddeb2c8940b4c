import { MINUTE_MS } from '../../timing/spans.js';
import { PublishError } from './errors.js';

/** The failures of one caller within one minute. */
export interface CountedFailures {
  failures: number;
  /** When the minute ends, in milliseconds since 1970. */
  until: number;
}

/**
 * Counts attempts to authenticate that failed, for each bus and address, in the memory of this
 * isolate. Refuses attempts beyond a maximum per minute.
 */
export class FailedAttempts {
  readonly #max: number;
  readonly #counts = new Map<string, CountedFailures>();

  /** @param max - maximum number of failures per minute; 0: no limit. */
  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Counts an attempt as a failure, until {@link FailedAttempts.remove} removes it.
   *
   * @throws PublishError `too-many-failures`.
   */
  add(caller: string): CountedFailures {
    const now = Date.now();
    const current = this.#counts.get(caller);
    const isNew = current === undefined || now >= current.until;
    const counted = isNew ? { failures: 0, until: now + MINUTE_MS } : current;
    if (this.#max > 0 && counted.failures >= this.#max) throw new PublishError('too-many-failures');
    counted.failures += 1;
    if (isNew) this.#keep(caller, counted);
    return counted;
  }

  /** Removes an attempt that has authenticated. `counted` is what `add` returned for it. */
  remove(counted: CountedFailures): void {
    counted.failures -= 1;
  }

  /**
   * Stores the failures of a caller. The entries are in the order in which their minutes began, so
   * the first one expires first.
   */
  #keep(caller: string, counted: CountedFailures): void {
    this.#counts.delete(caller);
    this.#counts.set(caller, counted);
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > MAX_CALLERS && oldest !== undefined) this.#counts.delete(oldest);
  }
}

/** Maximum number of callers that are counted: one to two megabytes. */
const MAX_CALLERS = 10_000;
