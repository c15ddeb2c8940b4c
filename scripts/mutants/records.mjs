import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { folder } from './mutants.mjs';

/**
 * @typedef {object} PatchRecord the last run of a patch, which had the expected result
 * @property {string} commit of the tree
 * @property {string} day such as 2026-11-01
 * @property {string[]} tests those that failed; empty if a reason is listed why none does
 * @property {string} digest of the mutant when it ran
 * @property {string} [judge] digest of the files of `tests` when it ran, see `judgeOf`
 */
/** @typedef {{ [name: string]: PatchRecord }} Records by the name of the mutant */

/** The file with the records of all patches. */
export const recordFile = join(folder, 'patches.json');

/** @returns {Promise<Records>} */
export async function records() {
  return JSON.parse(await readFile(recordFile, 'utf8'));
}

/**
 * Returns the record of a mutant, unless it is of an earlier form: one with another command or with
 * other changed lines.
 * @param {import('./mutants.mjs').Mutant} mutant
 * @param {Records} all
 */
export function currentOf({ digest, name }, all) {
  const last = all[name];
  return last?.digest === digest ? last : undefined;
}

/**
 * Stores the result of a mutant; without one, removes what is stored.
 * @param {string} name
 * @param {PatchRecord | undefined} result
 */
export async function record(name, result) {
  const { [name]: _former, ...others } = await records();
  const all = Object.entries(result === undefined ? others : { ...others, [name]: result });
  const sorted = all.sort(([a], [b]) => (a < b ? -1 : 1));
  await writeFile(recordFile, `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`);
}
