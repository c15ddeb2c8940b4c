import { modulesUsed } from './modules.mjs';
import { importsOf } from './source-file.mjs';

/** @typedef {import('./source-file.mjs').SourceFile} SourceFile */

/**
 * Returns the circles of imports: in each folder, the files and folders that import each other,
 * directly or through others beside them.
 * @param {SourceFile[]} files
 */
export function circles(files) {
  return circlesOf(files.map((file) => [file.path, importsOf(file)]));
}

/**
 * Returns the circles of uses among Rust files. The file of a module and those beneath it may name
 * each other.
 * @param {SourceFile[]} files
 */
export function rustCircles(files) {
  const used = [...modulesUsed(files)];
  return circlesOf(used.map(([{ path }, targets]) => [path, targets]));
}

/** @param {[path: string, targets: string[]][]} imports */
function circlesOf(imports) {
  return [...neighbors(imports)].flatMap(([folder, graph]) =>
    [...graph.keys()]
      .filter((name) => reaches(graph, name, name))
      .map((name) => `${folder}/${name} imports itself by way of its neighbors`),
  );
}

/**
 * Returns which entries of a folder import which of the same folder, for each folder.
 * @param {[path: string, targets: string[]][]} imports
 * @returns {Map<string, Map<string, Set<string>>>}
 */
function neighbors(imports) {
  const folders = new Map();
  for (const [path, targets] of imports) {
    for (const target of targets) {
      const [folder, from, to] = fork(path, target);
      const graph = folders.get(folder) ?? new Map();
      const isWithin = from === to || isParent(path, from) || isParent(target, to);
      if (!isWithin) graph.set(from, (graph.get(from) ?? new Set()).add(to));
      folders.set(folder, graph);
    }
  }
  return folders;
}

/**
 * Returns the innermost folder that holds two paths, and its entries on the way to each.
 * @param {string} path
 * @param {string} target
 * @returns {[folder: string, from: string, to: string]}
 */
function fork(path, target) {
  const [one, other] = [parts(path), parts(target)];
  const at = one.findIndex((part, index) => part !== other[index]);
  return [one.slice(0, at).join('/'), one[at] ?? '', other[at] ?? ''];
}

/**
 * Whether an entry of a folder is the file of the Rust module that the folder is.
 * @param {string} path
 * @param {string} entry
 */
function isParent(path, entry) {
  return path.endsWith('.rs') && (entry === 'mod' || entry === 'lib');
}

/**
 * Returns the segments of a path, without the extension.
 * @param {string} path
 */
function parts(path) {
  return path.replace(/\.\w+$/, '').split('/');
}

/**
 * @param {Map<string, Set<string>>} graph
 * @param {string} from
 * @param {string} to
 */
function reaches(graph, from, to, seen = new Set()) {
  for (const next of graph.get(from) ?? []) {
    if (next === to) return true;
    if (seen.has(next)) continue;
    seen.add(next);
    if (reaches(graph, next, to, seen)) return true;
  }
  return false;
}
