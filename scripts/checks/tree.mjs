import { run } from '../process/command.mjs';

/** @typedef {{ commit: string, isDirty: boolean }} Tree */

/**
 * Returns the state of the repository.
 * @returns {Promise<Tree>}
 */
export async function treeState() {
  const commit = (await run('git', ['rev-parse', '--short=10', 'HEAD'])).trim();
  const changes = (await run('git', ['status', '--porcelain'])).trim();
  return { commit, isDirty: changes !== '' };
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
