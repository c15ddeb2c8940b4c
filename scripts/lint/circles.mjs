import { importsOf } from './source-file.mjs';

/** @typedef {import('./source-file.mjs').SourceFile} SourceFile */

/**
 * Returns the circles of imports: in each folder, the files and folders that import each other,
 * directly or through others beside them.
 * @param {SourceFile[]} files
 */
export function circles(files) {
  return [...neighbours(files)].flatMap(([folder, graph]) =>
    [...graph.keys()]
      .filter((name) => reaches(graph, name, name))
      .map((name) => `${folder}/${name} imports itself by way of its neighbours`),
  );
}

/**
 * Returns which entries of a folder import which of the same folder, for each folder.
 * @param {SourceFile[]} files
 * @returns {Map<string, Map<string, Set<string>>>}
 */
function neighbours(files) {
  const folders = new Map();
  for (const file of files) {
    for (const target of importsOf(file)) {
      const [folder, from, to] = fork(file.path, target);
      const graph = folders.get(folder) ?? new Map();
      if (from !== to) graph.set(from, (graph.get(from) ?? new Set()).add(to));
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
