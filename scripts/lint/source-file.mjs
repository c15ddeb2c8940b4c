import { readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { run } from '../process/command.mjs';
import { root } from '../process/project.mjs';

/** @typedef {{ path: string, lines: string[] }} SourceFile */

/** Returns every file that is in the repository, or new and not ignored. */
export async function sourceFiles() {
  const list = await run('git', ['ls-files', '-co', '--exclude-standard', '-z']);
  const files = await Promise.all(
    list
      .split('\0')
      .filter((path) => path !== '')
      .map(sourceFile),
  );
  return files.filter((file) => file !== undefined);
}

/**
 * @param {string} path
 * @returns {Promise<SourceFile | undefined>} undefined for a file that is deleted and not yet
 * committed so
 */
async function sourceFile(path) {
  const text = await readFile(join(root, path), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : { path, lines: text.replace(/\n$/, '').split('\n') };
}

/**
 * Returns the paths that a script or module imports from the repository, types included.
 * @param {SourceFile} file
 */
export function importsOf({ path, lines }) {
  return [...lines.join('\n').matchAll(/(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g)].map(
    ([, name = '']) => posix.join(posix.dirname(path), name),
  );
}
