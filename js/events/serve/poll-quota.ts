/** Counts the polls that each caller with a name has running in this isolate. */
export class PollQuota {
  readonly #running = new Map<string, number>();

  /** Counts a poll. Returns what ends that; undefined if the caller has too many. */
  enter(principal: string | undefined): (() => void) | undefined {
    if (principal === undefined) return () => {};
    const count = this.#running.get(principal) ?? 0;
    if (count >= MAX_POLLS) return undefined;
    this.#running.set(principal, count + 1);
    return () => this.#leave(principal);
  }

  #leave(principal: string): void {
    const left = (this.#running.get(principal) ?? 1) - 1;
    if (left === 0) this.#running.delete(principal);
    else this.#running.set(principal, left);
  }
}

/** Maximum number of polls of one caller at a time. */
export const MAX_POLLS = 4;
