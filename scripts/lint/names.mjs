import { posix } from 'node:path';

/** @typedef {import('./source-file.mjs').SourceFile} SourceFile */

/**
 * Returns the prefixes that stand for a folder: three files of one folder begin with the same word.
 * @param {SourceFile[]} files
 */
export function prefixes(files) {
  const groups = grouped(files, ({ path }) => [
    `${posix.dirname(path)}/${posix.basename(path).split(/[-_.]/)[0]}-*`,
  ]);
  return [...groups]
    .filter(([, places]) => places.length > 2)
    .map(([prefix, places]) => `${prefix} has ${places.length} files`);
}

/**
 * Returns the names that more than one file exports as a type, in TypeScript or Rust.
 * @param {SourceFile[]} files
 */
export function sharedTypes(files) {
  const groups = grouped(files, ({ lines, path }) =>
    [...lines.join('\n').matchAll(path.endsWith('.rs') ? RUST_TYPE : TYPE)].map(
      ([, name = '']) => name,
    ),
  );
  return [...groups]
    .filter(([, places]) => places.length > 1)
    .map(([name, places]) => `${name} is in ${places.join(' and ')}`);
}

/**
 * Returns the files by the keys that each of them has.
 * @param {SourceFile[]} files
 * @param {(file: SourceFile) => string[]} keysOf
 * @returns {Map<string, string[]>} the paths of each key
 */
function grouped(files, keysOf) {
  const groups = new Map();
  for (const file of files) {
    for (const key of keysOf(file)) groups.set(key, [...(groups.get(key) ?? []), file.path]);
  }
  return groups;
}

/** The types of Rust that other files can use. */
const RUST_TYPE = /^pub(?:\([^)]*\))? (?:struct|enum|trait|type) (\w+)/gm;
const TYPE = /^export (?:declare )?(?:abstract )?(?:interface|type|class|enum) (\w+)/gm;
