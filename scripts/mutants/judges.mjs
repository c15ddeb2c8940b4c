import { createHash } from 'node:crypto';
import { run } from '../process/command.mjs';
import { root } from '../process/project.mjs';

/** @typedef {Map<string, string>} Blobs the ids of the files of a commit, by their path */

/**
 * Returns the files of a commit that can judge a mutant.
 * @param {string} commit
 * @param {string} cwd
 * @returns {Promise<Blobs>}
 */
export async function blobsOf(commit = 'HEAD', cwd = root) {
  const list = await run('git', ['ls-tree', '-r', commit, '--', 'bench', 'wasm-tests'], { cwd });
  return new Map(
    list
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [, , blob = '', path = ''] = line.split(/[ \t]/);
        return [path, blob];
      }),
  );
}

/**
 * Returns a digest of the files whose tests killed a mutant; undefined if they are not among the
 * files. What these files import counts only in `wasm-tests/faults`.
 * @param {string[]} tests as a record names them
 * @param {Blobs} blobs
 * @returns {string | undefined}
 */
export function judgeOf(tests, blobs) {
  const paths = [...new Set(tests.flatMap((test) => filesOf(test, blobs)))].sort();
  if (paths.length === 0) return undefined;
  const lines = paths.map((path) => `${blobs.get(path)} ${path}`);
  return createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 16);
}

/**
 * @param {string} test
 * @param {Blobs} blobs
 * @returns {string[]}
 */
function filesOf(test, blobs) {
  if (test.includes('bench/check.ts')) return BENCH.filter((path) => blobs.has(path));
  const [, file] = /^(wasm-tests\/\S+)/.exec(test) ?? [];
  if (file === undefined) return rustFilesOf(test, blobs);
  if (!file.startsWith(FAULTS)) return blobs.has(file) ? [file] : [];
  return [...blobs.keys()].filter((path) => path.startsWith(FAULTS));
}

/**
 * @param {string} test such as `test bus::follows::works ... FAILED`
 * @param {Blobs} blobs
 */
function rustFilesOf(test, blobs) {
  const [, name = ''] = /^test (\S+)/.exec(test) ?? [];
  const module = name.split('::').slice(0, -1).join('/');
  const names = module === '' ? ['main.rs'] : [`${module}.rs`, `${module}/mod.rs`];
  const paths = ['core', 'fuzz'].flatMap((folder) =>
    names.map((file) => `wasm-tests/${folder}/${file}`),
  );
  return paths.filter((path) => blobs.has(path));
}

/** The scenarios, their stage and what judges them. */
const FAULTS = 'wasm-tests/faults/';
const BENCH = ['bench/baseline.json', 'bench/check.ts', 'bench/harness/baseline.ts'];
