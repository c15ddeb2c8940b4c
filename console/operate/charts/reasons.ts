import type { Counts } from '../history.js';
import type { Line } from './line.js';

/** Gives reasons their colors in the order in which they appear; the sixth and later share one. */
export class Reasons {
  readonly #known: string[] = [];

  /** Returns a line for each reason that was counted so far. */
  lines(counts: Counts[]): Line[] {
    for (const reason of counts.flatMap((each) => Object.keys(each)))
      if (!this.#known.includes(reason)) this.#known.push(reason);
    const own =
      this.#known.length > MAX_COLORS ? this.#known.slice(0, MAX_COLORS - 1) : this.#known;
    const others = this.#known.slice(own.length);
    const lines = own.map((reason) => ({
      label: reason,
      values: counts.map((each) => each[reason] ?? 0),
    }));
    if (others.length === 0) return lines;
    const sum = (each: Counts) => others.reduce((all, reason) => all + (each[reason] ?? 0), 0);
    return [...lines, { label: 'others', values: counts.map(sum) }];
  }
}

const MAX_COLORS = 6;
