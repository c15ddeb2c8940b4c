/** @typedef {import('./source-file.mjs').SourceFile} SourceFile */

/**
 * A module of a Rust crate: its file, its place in the crate, which names its `use` items bind to
 * which paths, and all paths in it.
 * @typedef {object} Module
 * @property {SourceFile} file
 * @property {string[]} at
 * @property {Map<string, string[]>} uses
 * @property {string[][]} paths
 */

/**
 * Returns which files of the same crate each Rust file names in `use` items and paths. A name that
 * another module re-exports counts as one of the file that defines it.
 * @param {SourceFile[]} files
 * @returns {Map<SourceFile, string[]>}
 */
export function modulesUsed(files) {
  const modules = new Map(files.map((file) => [keyOf(placeOf(file.path)), moduleOf(file)]));
  return new Map(
    [...modules.values()].map((module) => {
      const targets = module.paths.map((path) => resolve(modules, module.at, path)?.file.path);
      return [module.file, targets.filter((target) => target !== undefined)];
    }),
  );
}

/**
 * @param {SourceFile} file
 * @returns {Module}
 */
function moduleOf(file) {
  const text = file.lines.map((line) => line.replace(/\/\/.*$/, '')).join('\n');
  const items = [...text.matchAll(/^\s*(?:pub(?:\([^)]*\))? )?use ([^;]+);/gm)];
  const uses = items.flatMap(([, tree = '']) => leaves(tree.replace(/\s+/g, ' ')));
  const inline = [...text.matchAll(/\b(?:crate|super|self)(?:::\w+)+/g)];
  return {
    file,
    at: placeOf(file.path),
    uses: new Map(uses.map(({ name, path }) => [name, path])),
    paths: [...uses.map(({ path }) => path), ...inline.map(([path]) => path.split('::'))],
  };
}

/**
 * Returns the module that a path leads to, seen from the module `from`.
 * @param {Map<string, Module>} modules
 * @param {string[]} from
 * @param {string[]} path
 * @param {number} depth - of re-exports
 * @returns {Module | undefined}
 */
function resolve(modules, from, path, depth = 0) {
  let at = from;
  let rest = path;
  if (rest[0] === 'crate') at = from.slice(0, 1);
  if (rest[0] === 'crate' || rest[0] === 'self') rest = rest.slice(1);
  for (; rest[0] === 'super'; rest = rest.slice(1)) at = at.slice(0, -1);
  if (rest === path && !modules.has(keyOf([...at, rest[0] ?? '']))) return undefined;
  while (rest.length > 0 && modules.has(keyOf([...at, rest[0] ?? '']))) {
    at = [...at, rest[0] ?? ''];
    rest = rest.slice(1);
  }
  const module = modules.get(keyOf(at));
  const used = module?.uses.get(rest[0] ?? '');
  if (used === undefined || depth > MAX_DEPTH) return module;
  return resolve(modules, at, [...used, ...rest.slice(1)], depth + 1) ?? module;
}

/**
 * Returns the paths in the tree of a `use` item, each with the name that it binds.
 * @param {string} tree
 * @returns {{ name: string, path: string[] }[]}
 */
function leaves(tree) {
  const [, head = '', list] = /^([^{]*)\{(.*)\}$/.exec(tree.trim()) ?? [];
  if (list !== undefined)
    return branches(list).flatMap((branch) => leaves(`${head.trim()}${branch.trim()}`));
  const [full = '', alias] = tree.trim().split(' as ');
  const path = full.replace(/::self$/, '').split('::');
  return full === '' ? [] : [{ name: alias ?? path.at(-1) ?? '', path }];
}

/**
 * Splits a list at the commas that are in no braces.
 * @param {string} list
 */
function branches(list) {
  let depth = 0;
  let branch = '';
  const found = [];
  for (const letter of `${list},`) {
    if (letter === '{') depth += 1;
    if (letter === '}') depth -= 1;
    if (letter !== ',' || depth > 0) {
      branch += letter;
      continue;
    }
    found.push(branch);
    branch = '';
  }
  return found.filter((each) => each.trim() !== '');
}

/**
 * Returns the crate's folder of a file, and its module path.
 * @param {string} path
 * @returns {string[]}
 */
function placeOf(path) {
  const [, crate = '', module = ''] = /^(.*?\bsrc)\/(.*)\.rs$/.exec(path) ?? [];
  return [crate, ...module.split('/').filter((part) => part !== 'mod' && part !== 'lib')];
}

/** @param {string[]} place */
function keyOf(place) {
  return place.join('::');
}

const MAX_DEPTH = 8;
