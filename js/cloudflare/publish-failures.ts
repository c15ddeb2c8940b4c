import { PublishRefusal } from './publish-refusal.js';

/**
 * Counts publishes that failed to show a secret, for each bus and address, in the memory of this isolate: beyond so many
 * within a minute, the next ones are refused before their secret is looked at.
 */
export class PublishFailures {
  readonly #most: number;
  readonly #counts = new Map<string, { failures: number; until: number }>();

  /** @param most - failures within a minute; below 1: any number. */
  constructor(most: number) {
    this.#most = most;
  }

  /** @throws PublishRefusal `too-many-failures`. */
  expectFew(caller: string): void {
    const { failures = 0, until = 0 } = this.#counts.get(caller) ?? {};
    if (this.#most >= 1 && failures >= this.#most && Date.now() < until) throw new PublishRefusal('too-many-failures');
  }

  /** Counts a failure. */
  add(caller: string): void {
    const now = Date.now();
    const former = this.#counts.get(caller);
    const isOver = former === undefined || now >= former.until;
    // The entries stand in the order in which their minutes began, so that the first one ends first.
    if (isOver) this.#counts.delete(caller);
    this.#counts.set(
      caller,
      isOver ? { failures: 1, until: now + MINUTE_MS } : { ...former, failures: former.failures + 1 },
    );
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > MOST_CALLERS && oldest !== undefined) this.#counts.delete(oldest);
  }
}

const MINUTE_MS = 60_000;
/** Callers that are counted at a time: a megabyte or two. */
const MOST_CALLERS = 10_000;
