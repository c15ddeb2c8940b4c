import { availableParallelism, loadavg } from 'node:os';
import { Estimate, formatRemaining, freeCores } from './estimate.mjs';

/** @typedef {import('./estimate.mjs').Cost} Cost */

/**
 * @typedef {object} Part a part of the set-up
 * @property {string} name one word or two
 * @property {string} label a description of `work`
 * @property {() => Promise<unknown>} work
 */

/**
 * Runs parts in parallel, each as soon as those that it depends on have ended. Prints what begins,
 * what has ended and the remaining time: as a line that is updated on a terminal, and as occasional
 * lines elsewhere.
 * @param {Part[]} parts
 * @param {Cost[]} costs of the parts; a dependency that is not among the parts counts as done
 */
export async function sideBySide(parts, costs) {
  const known = costs.filter(({ name }) => parts.some((part) => part.name === name));
  const unknown = parts.filter(({ name }) => !costs.some((cost) => cost.name === name));
  if (unknown.length > 0)
    throw new Error(`no cost is known for ${unknown.map(({ name }) => name).join(', ')}`);
  const cores = freeCores(availableParallelism(), loadavg()[0] ?? 0);
  const board = new Board(new Estimate(known, cores));
  /** @type {Map<string, Promise<void>>} */
  const ends = new Map();
  try {
    for (const { name, after } of known) {
      const part = parts.find((one) => one.name === name);
      if (part !== undefined)
        ends.set(
          name,
          doneAfter(
            after.map((before) => ends.get(before)),
            part,
            board,
          ),
        );
    }
    await Promise.all(ends.values());
  } finally {
    board.close();
  }
}

/**
 * @param {Array<Promise<void> | undefined>} before
 * @param {Part} part
 * @param {Board} board
 */
async function doneAfter(before, part, board) {
  await Promise.all(before);
  board.begin(part);
  await part.work();
  board.end(part);
}

/** Shows the progress on standard output. */
class Board {
  /** @param {Estimate} estimate */
  constructor(estimate) {
    this.estimate = estimate;
    this.started = performance.now();
    /** @type {Map<string, number>} */
    this.running = new Map();
    this.isTerminal = process.stdout.isTTY;
    // Runs after the first parts have begun.
    setImmediate(() => this.show());
    this.ticking = setInterval(() => this.show(), this.isTerminal ? 1000 : 15_000);
  }

  /** @param {Part} part */
  begin({ name, label }) {
    this.estimate.begin(name, this.seconds());
    this.running.set(name, this.seconds());
    this.line(`${label} ...`);
  }

  /** @param {Part} part */
  end({ name, label }) {
    const taken = this.seconds() - (this.running.get(name) ?? 0);
    this.running.delete(name);
    this.estimate.end(name, this.seconds());
    this.line(`${label}: ${taken.toFixed(1)} s`);
    this.show();
  }

  /** Prints what is running, the elapsed time and the remaining time. */
  show() {
    if (this.running.size === 0) return;
    const labels = [...this.running.keys()].join(', ');
    const state = `${labels}: ${this.seconds().toFixed(0)} s, ${this.left()}`;
    process.stdout.write(this.isTerminal ? `${CLEARED}${state}` : `${state}\n`);
  }

  close() {
    clearInterval(this.ticking);
    if (this.isTerminal) process.stdout.write(CLEARED);
  }

  /** @param {string} text */
  line(text) {
    process.stdout.write(`${this.isTerminal ? CLEARED : ''}${text}\n`);
  }

  left() {
    return formatRemaining(this.estimate.left(this.seconds()));
  }

  seconds() {
    return (performance.now() - this.started) / 1000;
  }
}

/** Moves to the first column and clears the line. */
const CLEARED = '\r\x1b[K';
