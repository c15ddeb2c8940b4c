/** How often a subscription has ended, by reason. */
export class Ends {
  readonly #counts = new Map<string, number>();

  /** Counts an end. */
  add(reason: string): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
  }

  /** Describes the ends, as in `disconnected 2, graceful 1`; the first reason first. */
  get text(): string {
    const parts = [...this.#counts].map(([reason, count]) => `${reason} ${count}`);
    return parts.length === 0 ? 'none' : parts.join(', ');
  }
}
