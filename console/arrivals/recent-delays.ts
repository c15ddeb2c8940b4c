import { percentile, SHARES } from './scale.js';

/** The delays of the last ten seconds. */
export class RecentDelays {
  readonly #delays: { at: number; ms: number }[] = [];

  /** Adds the delay of a cue that arrived at `at`. */
  add(ms: number, at: number): void {
    this.#delays.push({ at, ms });
    this.#expire(at);
  }

  /** Returns the percentile of each of {@link SHARES} in milliseconds; none without delays. */
  percentiles(at: number): Record<number, number> {
    this.#expire(at);
    const times = this.#delays.map(({ ms }) => ms);
    if (times.length === 0) return {};
    return Object.fromEntries(SHARES.map((share) => [share, percentile(times, share)]));
  }

  #expire(at: number): void {
    while ((this.#delays[0]?.at ?? at) < at - WINDOW_MS) this.#delays.shift();
  }
}

const WINDOW_MS = 10_000;
