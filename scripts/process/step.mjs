/**
 * Runs one piece of work with one line of output: its label, then how many seconds it took.
 * @template T
 * @param {string} label
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(label, work) {
  const started = performance.now();
  const elapsed = () => `${((performance.now() - started) / 1000).toFixed(1)} s`;
  const ticking = process.stdout.isTTY
    ? setInterval(() => process.stdout.write(`\r${label} ... ${elapsed()}`), 1000)
    : undefined;
  process.stdout.write(`${label} ...`);
  try {
    const result = await work();
    process.stdout.write(`${ticking ? `\r${label} ...` : ''} ${elapsed()}\n`);
    return result;
  } catch (error) {
    process.stdout.write(` failed after ${elapsed()}\n`);
    throw error;
  } finally {
    clearInterval(ticking);
  }
}
