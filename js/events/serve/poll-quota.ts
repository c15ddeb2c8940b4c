/** Counts the polls that each caller has running in this isolate. */
export class PollQuota {
  readonly #running = new Map<string | undefined, number>();

  /** Counts a poll. Returns what ends that; the maximum if the caller has that many. */
  enter(principal: string | undefined): (() => void) | number {
    const max = principal === undefined ? MAX_UNNAMED_POLLS : MAX_POLLS;
    const count = this.#running.get(principal) ?? 0;
    if (count >= max) return max;
    this.#running.set(principal, count + 1);
    return () => this.#leave(principal);
  }

  #leave(principal: string | undefined): void {
    const left = (this.#running.get(principal) ?? 1) - 1;
    if (left === 0) this.#running.delete(principal);
    else this.#running.set(principal, left);
  }
}

/** Maximum number of polls of one caller at a time. */
const MAX_POLLS = 4;
/** Maximum number of polls at a time of all callers without a name. */
const MAX_UNNAMED_POLLS = 64;
