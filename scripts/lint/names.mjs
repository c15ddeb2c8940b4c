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
 * Returns the names that more than one file exports: of TypeScript any, of Rust those of types.
 * @param {SourceFile[]} files
 */
export function sharedNames(files) {
  const groups = grouped(files, ({ lines, path }) => {
    const declared = lines.join('\n').matchAll(path.endsWith('.rs') ? RUST_TYPE : EXPORT);
    return new Set([...declared].map(([, name = '']) => name));
  });
  return [...groups]
    .filter(([name, places]) => places.length > 1 && !TWINS.test(`${name} ${places.join(' ')}`))
    .map(([name, places]) => `${name} is in ${places.join(' and ')}`);
}

/**
 * Returns the files by the keys that each of them has.
 * @param {SourceFile[]} files
 * @param {(file: SourceFile) => Iterable<string>} keysOf
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
const EXPORT =
  /^export (?:declare |abstract |async )*(?:interface|type|class|enum|const|function\*?) (\w+)/gm;
/** Each module of the core, and each slim entry, has functions of the same names to load it. */
const TWINS =
  /^(?:init( js\/entry\/\w+\/slim\.ts)+|(?:load|expectLoaded)( js\/wasm\/\w+\/load\.ts)+)$/;
