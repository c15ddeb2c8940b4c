/**
 * @typedef {object} Lane
 * @property {string} name of its script in .ci
 * @property {string} [holds] what it needs for itself: lanes that hold the same thing take turns
 * @property {boolean} [isAlone] runs while no other lane does
 */

/**
 * In the order in which they begin. Those that hold `cargo` compile into the same folders of
 * target/ and keep the cores busy while they do; most of the others wait for timers most of the
 * time, so that a few fit two cores. `interop` comes early because it compiles another SDK in a
 * fresh clone.
 * @type {Lane[]}
 */
export const lanes = [
  { name: 'lint', holds: 'cargo' },
  { name: 'interop' },
  { name: 'workerd' },
  { name: 'rust', holds: 'cargo' },
  { name: 'wasm-node', holds: 'cargo' },
  { name: 'wasm-chromium', holds: 'cargo' },
  { name: 'package' },
  { name: 'fuzz' },
  { name: 'console' },
  { name: 'node' },
  { name: 'buses' },
  { name: 'conformance' },
  { name: 'audit' },
  // These judge how long something takes, to which a neighbour would add.
  { name: 'faults', isAlone: true },
  { name: 'bench', isAlone: true },
];

/**
 * Runs lanes side by side: each begins in its turn, as soon as there is a place and nothing that
 * runs is in its way.
 * @template Result
 * @param {Lane[]} wanted
 * @param {number} places how many run at the same time
 * @param {(lane: Lane) => Promise<Result>} run
 * @returns {Promise<Result[]>} in the order of `wanted`
 */
export async function scheduled(wanted, places, run) {
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
      if (running.size < places && fits(lane, [...running.keys()])) running.set(lane, begin(lane));
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
