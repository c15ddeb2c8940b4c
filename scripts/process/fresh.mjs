import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from './project.mjs';

const stamps = join(root, '.build', 'stamps');

/**
 * Runs `work` unless its inputs and outputs are unchanged since the last run.
 * @param {string} name of the work; one word
 * @param {{ inputs: string[], outputs: string[] }} paths files and folders in the repository
 * @param {() => Promise<unknown>} work
 */
export async function unlessFresh(name, { inputs, outputs }, work) {
  if (await isFresh(name, { inputs, outputs })) return;
  const taken = await digest(inputs);
  await work();
  // If an input changed during the work, no stamp is written, because the outputs may be outdated.
  if (taken !== (await digest(inputs))) return;
  await mkdir(stamps, { recursive: true });
  await writeFile(join(stamps, name), await digest([...inputs, ...outputs]));
}

/**
 * Returns whether the inputs and outputs of a piece of work are unchanged since its last run.
 * @param {string} name
 * @param {{ inputs: string[], outputs: string[] }} paths
 */
export async function isFresh(name, { inputs, outputs }) {
  const before = await readFile(join(stamps, name), 'utf8').catch(() => '');
  return before !== '' && before === (await digest([...inputs, ...outputs]));
}

/**
 * Returns a digest of the names and contents of all files at these paths.
 * @param {string[]} paths files and folders in the repository
 */
export async function digest(paths) {
  const hash = createHash('sha256');
  for (const path of paths) {
    for (const file of await filesIn(path))
      hash.update(`${file}\0`).update(await contentHash(file));
    hash.update('\0');
  }
  return hash.digest('hex');
}

/** @param {string} file */
async function contentHash(file) {
  return createHash('sha256')
    .update(await readFile(join(root, file)))
    .digest();
}

/**
 * Returns the files under a path, sorted; the path itself for a file, and none if it does not
 * exist.
 * @param {string} path
 * @returns {Promise<string[]>}
 */
async function filesIn(path) {
  try {
    const entries = await readdir(join(root, path), { withFileTypes: true, recursive: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(path, entry.parentPath.slice(join(root, path).length), entry.name))
      .sort();
  } catch (error) {
    const code = /** @type {NodeJS.ErrnoException} */ (error).code;
    if (code === 'ENOENT') return [];
    if (code === 'ENOTDIR') return [path];
    throw error;
  }
}
