import { run } from '../../process/command.mjs';
import { root } from '../../process/project.mjs';

/** @typedef {{ commit: string, isDirty: boolean }} Tree */

/**
 * Returns the state of a repository, by default this one. Files that checks and benchmarks write
 * their results into do not count as changes, so that several checks can run at one commit.
 * @param {string} [cwd]
 * @returns {Promise<Tree>}
 */
export async function treeState(cwd = root) {
  const commit = (await run('git', ['rev-parse', '--short=10', 'HEAD'], { cwd })).trim();
  const others = RESULTS.map((path) => `:(exclude,glob)${path}`);
  const changes = await run('git', ['status', '--porcelain', '--', '.', ...others], { cwd });
  return { commit, isDirty: changes.trim() !== '' };
}

/**
 * Returns why the results of a run belong to no commit; empty if they do.
 * @param {Tree} before
 * @param {Tree} after
 * @returns {string[]}
 */
export function treeObstacles(before, after) {
  return [
    before.isDirty ? ['the tree has changes that are not committed'] : [],
    before.commit === after.commit
      ? []
      : [`the commit changed from ${before.commit} to ${after.commit}`],
  ].flat();
}

/** What checks and benchmarks write. No check reads these files to judge the code. */
const RESULTS = [
  ...['docs/cost.md', 'docs/mutants.md', 'docs/observability.md', 'docs/scale.md'],
  'docs/verification.md',
  ...['bench/RESULTS.md', 'bench/**/results.json', 'bench/plots/**'],
  ...['wasm-tests/mutants/core.json', 'wasm-tests/mutants/patches.json'],
];
