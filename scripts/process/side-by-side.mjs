import { availableParallelism, loadavg } from 'node:os';
import { Estimate, freeCores, inWords } from './estimate.mjs';

/** @typedef {import('./estimate.mjs').Cost} Cost */

/**
 * @typedef {object} Part something that a clone lacks
 * @property {string} name one word or two
 * @property {string} label what `work` does
 * @property {() => Promise<unknown>} work
 */

/**
 * Does parts side by side, each as soon as those that it needs have ended. Says what begins, what
 * ended and how long the rest will take: a line that moves on a terminal, a line now and then
 * elsewhere.
 * @param {Part[]} parts
 * @param {Cost[]} costs of each part, and what it comes after; those of no part are taken to be
 * there
 */
export async function sideBySide(parts, costs) {
  const known = costs.filter(({ name }) => parts.some((part) => part.name === name));
  const unknown = parts.filter(({ name }) => !costs.some((cost) => cost.name === name));
  if (unknown.length > 0)
    throw new Error(`no cost is known of ${unknown.map(({ name }) => name).join(', ')}`);
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

/** What is being done, on standard output. */
class Board {
  /** @param {Estimate} estimate */
  constructor(estimate) {
    this.estimate = estimate;
    this.started = performance.now();
    /** @type {Map<string, number>} */
    this.running = new Map();
    this.isTerminal = process.stdout.isTTY;
    // Once the first parts have begun.
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

  /** Says what runs, since when, and what is left. */
  show() {
    if (this.running.size === 0) return;
    const state = `${[...this.running.keys()].join(', ')}: ${this.seconds().toFixed(0)} s, ${this.left()}`;
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
    return inWords(this.estimate.left(this.seconds()));
  }

  seconds() {
    return (performance.now() - this.started) / 1000;
  }
}

/** To the first column of a line that is empty then. */
const CLEARED = '\r\x1b[K';
