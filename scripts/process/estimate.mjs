/**
 * What a step costs. It takes `least` seconds on any number of cores, and `processor` seconds of
 * one core at most.
 * @typedef {object} Cost
 * @property {string} name
 * @property {string[]} after the steps that have to end before it begins
 * @property {'processor' | 'network'} by the resource that limits it
 * @property {number} processor seconds of processor time
 * @property {number} least seconds
 */

/**
 * Estimates how long parallel steps will take. It starts from the measured cost of each step, and
 * learns from each completed one how much faster or slower this machine, or its network, is. Times
 * are arguments, in seconds.
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
   * Changes the pace of one resource; the progress so far was counted at the previous pace.
   * @param {'processor' | 'network'} by
   * @param {number} pace
   */
  learn(by, pace) {
    for (const step of this.steps) if (step.by === by) step.done *= this.pace[by] / pace;
    this.pace[by] = pace;
  }

  /**
   * Returns the remaining seconds.
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
   * Returns the pace of one resource: a step that takes longer than expected slows down all steps
   * of that resource.
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
 * Returns how many cores other processes leave free: the idle ones, or a fair share for three busy
 * processes of ours.
 * @param {number} cores
 * @param {number} load the load average: how many processes recently ran or waited for a core
 */
export function freeCores(cores, load) {
  return Math.max(cores - load, (cores * 3) / (3 + load));
}

/**
 * Formats the remaining time.
 * @param {number} seconds
 */
export function formatRemaining(seconds) {
  if (seconds < 10) return 'a few seconds left';
  if (seconds < 95) return `about ${Math.round(seconds / 10) * 10} s left`;
  return `about ${Math.max(2, Math.round(seconds / 60))} min left`;
}

/**
 * Returns how long steps take that share the cores and depend on each other.
 * @param {Array<Cost & { rest: number }>} steps each with its remaining share
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
    if (shares.length === 0) throw new Error('the steps depend on each other in a cycle');
    const passed = Math.min(...shares.map(([step, speed]) => step.rest / speed));
    for (const [step, speed] of shares) step.rest -= passed * speed;
    pending = pending.filter(({ rest }) => rest > EPSILON);
    now += passed;
  }
  return now;
}

/**
 * Returns the progress of each step per second: steps that need fewer cores leave the rest to the
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

// A step that exceeds its expected time is assumed to need another tenth of it.
const OVERDUE = 0.1;
const EPSILON = 1e-9;
