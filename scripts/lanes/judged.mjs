import maySkip from '../../.ci/may-skip.json' with { type: 'json' };
import { UNAVAILABLE } from './tally.mjs';

/** @typedef {import('./tally.mjs').Tally} Tally */

/**
 * What a lane counted, and whether it may end as it did: no lane passes without a test that ran,
 * and with `CI=true` none with a test that was skipped, unless .ci/may-skip.json names the test and
 * the reason.
 * @param {string} lane
 * @param {number} status exit status of the lane
 * @param {Tally} tally
 * @param {boolean} isStrict whether skipped tests count as failed
 * @returns {Tally}
 */
export function judged(lane, status, tally, isStrict = process.env['CI'] === 'true') {
  if (status === UNAVAILABLE) return isStrict ? { ...tally, failed: 1, skipped: 0 } : tally;
  if (status !== 0 && tally.failed === 0)
    return { ...tally, failed: 1, reason: `ended with status ${status}` };
  if (tally.passed + tally.failed === 0) return { ...tally, failed: 1, reason: 'not one test ran' };
  return isStrict ? withoutSkips(lane, tally) : tally;
}

/**
 * Counts as failed what was skipped and may not be, also what was skipped without a name.
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
  const told = names.map(
    (name) => `${name}: skipped, and .ci/may-skip.json does not name it for the lane ${lane}`,
  );
  const unnamed =
    refused > names.length
      ? [`${refused - names.length} tests of ${lane} were skipped without a name`]
      : [];
  return {
    ...tally,
    failed: tally.failed + refused,
    skipped: known.length,
    failures: [...failures, ...told, ...unnamed],
  };
}
