/**
 * What a step costs. It takes `least` seconds on any number of cores, and `processor` seconds of
 * one core at most.
 * @typedef {object} Cost
 * @property {string} name
 * @property {string[]} after the steps that have to end before it begins
 * @property {'processor' | 'network'} by what makes it slow
 * @property {number} processor seconds of processor time
 * @property {number} least seconds
 */

/**
 * How long steps that run side by side will take. It follows each running step by what was measured
 * of it, and learns from each end how much faster or slower this machine, or its network, is. Time
 * is an argument, in seconds.
 */
export class Estimate {
  /**
   * @param {Cost[]} costs
   * @param {number} cores
   */
  constructor(costs, cores) {
    this.cores = cores;
    this.pace = { processor: 1, network: 1 };
    this.now = 0;
    this.steps = costs.map((cost) => ({ ...cost, done: 0, begun: false }));
  }

  /**
   * @param {string} name
   * @param {number} now
   */
  begin(name, now) {
    this.advance(now);
    for (const step of this.steps) if (step.name === name) step.begun = true;
  }

  /**
   * @param {string} name
   * @param {number} now
   */
  end(name, now) {
    this.advance(now);
    const step = this.steps.find((one) => one.name === name);
    if (step === undefined) return;
    this.steps = this.steps.filter((one) => one !== step);
    this.learn(step.by, clamped(this.pace[step.by] * step.done));
  }

  /**
   * What has passed of steps was counted at the pace that there was.
   * @param {'processor' | 'network'} by
   * @param {number} pace
   */
  learn(by, pace) {
    for (const step of this.steps) if (step.by === by) step.done *= this.pace[by] / pace;
    this.pace[by] = pace;
  }

  /**
   * Seconds that are left.
   * @param {number} now
   */
  left(now) {
    this.advance(now);
    const pace = { processor: this.slowest('processor'), network: this.slowest('network') };
    return makespan(
      this.steps.map((step) => ({
        ...step,
        rest: Math.max(1 - step.done, OVERDUE) * pace[step.by],
      })),
      this.cores,
    );
  }

  /**
   * The pace of one kind: a step that is over its time says that all of its kind are slower.
   * @param {'processor' | 'network'} by
   */
  slowest(by) {
    return (
      this.pace[by] *
      Math.max(1, ...this.steps.filter((step) => step.by === by).map((step) => step.done))
    );
  }

  /** @param {number} now */
  advance(now) {
    const running = this.steps.filter((step) => step.begun);
    for (const [step, speed] of speeds(running, this.cores))
      step.done += ((now - this.now) * speed) / this.pace[step.by];
    this.now = Math.max(now, this.now);
  }
}

/**
 * How many cores are left by what else runs: the idle ones, or a fair share for three busy
 * processes of ours.
 * @param {number} cores
 * @param {number} load how many processes ran or waited for a core lately
 */
export function freeCores(cores, load) {
  return Math.max(cores - load, (cores * 3) / (3 + load));
}

/**
 * What is left, in words.
 * @param {number} seconds
 */
export function inWords(seconds) {
  if (seconds < 10) return 'a few seconds left';
  if (seconds < 95) return `about ${Math.round(seconds / 10) * 10} s left`;
  return `about ${Math.max(2, Math.round(seconds / 60))} min left`;
}

/**
 * How long steps take that share the cores and wait for one another.
 * @param {Array<Cost & { rest: number }>} steps each with the share of it that is left
 * @param {number} cores
 */
function makespan(steps, cores) {
  let pending = steps.map((step) => ({ ...step }));
  let now = 0;
  while (pending.length > 0) {
    const names = new Set(pending.map(({ name }) => name));
    const shares = speeds(
      pending.filter(({ after }) => !after.some((name) => names.has(name))),
      cores,
    );
    if (shares.length === 0) throw new Error('steps wait for one another in a circle');
    const passed = Math.min(...shares.map(([step, speed]) => step.rest / speed));
    for (const [step, speed] of shares) step.rest -= passed * speed;
    pending = pending.filter(({ rest }) => rest > EPSILON);
    now += passed;
  }
  return now;
}

/**
 * The share of each step that passes in a second: those that need fewer cores leave the rest to the
 * others.
 * @template {Cost} Step
 * @param {Step[]} steps
 * @param {number} cores
 * @returns {Array<[Step, number]>}
 */
function speeds(steps, cores) {
  let free = cores;
  const narrowFirst = [...steps].sort((a, b) => a.processor / a.least - b.processor / b.least);
  return narrowFirst.map((step, index) => {
    const taken = Math.min(step.processor / step.least, free / (steps.length - index));
    free -= taken;
    return [step, Math.min(1 / step.least, taken / step.processor)];
  });
}

/** @param {number} pace */
function clamped(pace) {
  return Math.min(Math.max(pace, 0.1), 30);
}

// A step that is over its time is taken to need a tenth of it yet.
const OVERDUE = 0.1;
const EPSILON = 1e-9;
