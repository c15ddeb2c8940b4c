/**
 * @typedef {object} Lane
 * @property {string} name of its script in .ci
 * @property {string} [holds] a resource that it needs exclusively: lanes that hold the same one
 *   take turns
 * @property {boolean} [isAlone] runs while no other lane does
 */

/**
 * The lanes in the order in which they begin. Those that hold `cargo` compile into the same
 * folders of target/ and keep the cores busy; most of the others mainly wait for timers. `interop`
 * is early because it compiles another SDK in a fresh clone, `fuzz` after `rust` because it runs
 * the core that `rust` compiles.
 * @type {Lane[]}
 */
export const lanes = [
  { name: 'lint', holds: 'cargo' },
  { name: 'interop' },
  { name: 'rust', holds: 'cargo' },
  { name: 'wasm-node', holds: 'cargo' },
  { name: 'wasm-chromium', holds: 'cargo' },
  { name: 'workerd' },
  { name: 'faults' },
  { name: 'console' },
  { name: 'package' },
  { name: 'node' },
  { name: 'buses' },
  { name: 'fuzz' },
  { name: 'conformance' },
  { name: 'audit' },
  // This measures processor time, which other lanes would affect.
  { name: 'bench', isAlone: true },
];

/**
 * Runs lanes in parallel: each begins in order, as soon as there is a free slot and no running
 * lane conflicts with it.
 * @template Result
 * @param {Lane[]} wanted
 * @param {number} slots how many lanes run at the same time
 * @param {(lane: Lane) => Promise<Result>} run
 * @returns {Promise<Result[]>} in the order of `wanted`
 */
export async function scheduled(wanted, slots, run) {
  /** @type {Map<Lane, Promise<void>>} */
  const running = new Map();
  /** @type {Map<Lane, Result>} */
  const results = new Map();
  /** @param {Lane} lane */
  const begin = async (lane) => {
    results.set(lane, await run(lane));
    running.delete(lane);
  };
  let waiting = wanted;
  while (results.size < wanted.length) {
    for (const lane of waiting)
      if (running.size < slots && fits(lane, [...running.keys()])) running.set(lane, begin(lane));
    waiting = waiting.filter((lane) => !running.has(lane));
    await Promise.race(running.values());
  }
  return wanted.flatMap((lane) => results.get(lane) ?? []);
}

/**
 * @param {Lane} lane
 * @param {Lane[]} running
 */
function fits({ holds, isAlone }, running) {
  if (isAlone) return running.length === 0;
  return !running.some((other) => other.isAlone || (holds !== undefined && other.holds === holds));
}
