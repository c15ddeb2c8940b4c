import { PublishError } from './errors.js';

/** The failures of one caller within a minute. */
export interface CountedFailures {
  failures: number;
  /** When the minute ends, in milliseconds since 1970. */
  until: number;
}

/**
 * Counts attempts that failed to show a secret, for each bus and address, in the memory of this isolate. Refuses the
 * next ones beyond so many within a minute.
 */
export class FailedAttempts {
  readonly #most: number;
  readonly #counts = new Map<string, CountedFailures>();

  /** @param most - failures within a minute; 0: any number. */
  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Counts an attempt as a failure. {@link FailedAttempts.takeBack} takes it back.
   *
   * @throws PublishError `too-many-failures`.
   */
  add(caller: string): CountedFailures {
    const now = Date.now();
    const former = this.#counts.get(caller);
    const isOver = former === undefined || now >= former.until;
    const counted = isOver ? { failures: 0, until: now + MINUTE_MS } : former;
    if (this.#most > 0 && counted.failures >= this.#most)
      throw new PublishError('too-many-failures');
    counted.failures += 1;
    if (isOver) this.#keep(caller, counted);
    return counted;
  }

  /** Takes back one attempt, which has shown a secret. `counted` is what `add` returned for it. */
  takeBack(counted: CountedFailures): void {
    counted.failures -= 1;
  }

  /** The entries stand in the order in which their minutes began, so that the first one ends first. */
  #keep(caller: string, counted: CountedFailures): void {
    this.#counts.delete(caller);
    this.#counts.set(caller, counted);
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > MAX_CALLERS && oldest !== undefined) this.#counts.delete(oldest);
  }
}

const MINUTE_MS = 60_000;
/** Callers that are counted at a time: a megabyte or two. */
const MAX_CALLERS = 10_000;
