import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../process/project.mjs';
import { UNAVAILABLE } from './tally.mjs';

/** @typedef {import('./tally.mjs').Tally} Tally */

/**
 * The tests that may be skipped with `CI=true`. An `import` of the file needs Node 20.10.
 * @type {Array<{ lane: string, test: string, reason: string }>}
 */
const maySkip = JSON.parse(readFileSync(join(root, '.ci', 'may-skip.json'), 'utf8'));

/**
 * Returns the tally of a lane, with failures added if the lane must not pass: it fails if no test
 * ran and, with `CI=true`, if a test was skipped that .ci/may-skip.json does not list with a
 * reason.
 * @param {string} lane
 * @param {number} status exit status of the lane
 * @param {Tally} tally
 * @param {boolean} isStrict whether skipped tests count as failed
 * @returns {Tally}
 */
export function checkedTally(lane, status, tally, isStrict = process.env['CI'] === 'true') {
  if (status === UNAVAILABLE) return isStrict ? { ...tally, failed: 1, skipped: 0 } : tally;
  if (status !== 0 && tally.failed === 0)
    return { ...tally, failed: 1, reason: `ended with status ${status}` };
  if (tally.passed + tally.failed === 0) return { ...tally, failed: 1, reason: 'no test ran' };
  return isStrict ? withoutSkips(lane, tally) : tally;
}

/**
 * Counts skipped tests as failed if they may not be skipped or have no name.
 * @param {string} lane
 * @param {Tally} tally
 * @returns {Tally}
 */
function withoutSkips(lane, tally) {
  const { skips = [], failures = [] } = tally;
  const known = skips.filter((name) =>
    maySkip.some((row) => row.lane === lane && row.test === name),
  );
  const refused = tally.skipped - known.length;
  if (refused === 0) return tally;
  const names = skips.filter((name) => !known.includes(name));
  const messages = names.map(
    (name) => `${name}: skipped, but .ci/may-skip.json does not list it for the lane ${lane}`,
  );
  const unnamed =
    refused > names.length
      ? [`${refused - names.length} tests of ${lane} were skipped without a name`]
      : [];
  return {
    ...tally,
    failed: tally.failed + refused,
    skipped: known.length,
    failures: [...failures, ...messages, ...unnamed],
  };
}
