/**
 * Returns the tests and files that a page of evidence names and that do not exist: paths in
 * `wasm-tests`, the titles in quotes behind a path, tests and modules of the core, and the tests
 * behind one of its files.
 * @param {string} page its text
 * @param {Set<string>} known the names of all tests
 * @param {string[]} files the paths in `wasm-tests`
 * @returns {string[]}
 */
export function missingIn(page, known, files) {
  const text = page.replace(/^```[\s\S]*?^```/gm, '').replace(/\s+/g, ' ');
  const tests = [...known];
  return [
    ...[...text.matchAll(PATH)].flatMap(([, path = '', titles = '']) => [
      ...(files.some((file) => isAt(file, path)) ? [] : [path]),
      ...titlesIn(titles).flatMap((title) =>
        tests.some((test) => isCalled(test, path, title)) ? [] : [`${path} "${title}"`],
      ),
    ]),
    ...[...text.matchAll(RUST)].flatMap(([, module = '', test = '']) =>
      isRust(`${module}::${test}`, tests, files) ? [] : [`${module}::${test}`],
    ),
    ...[...text.matchAll(RUST_FILE)].flatMap(([, module = '', test = '*']) =>
      isRust(`${module}::${test}`, tests, files) ? [] : [`${module}.rs ${test}`],
    ),
  ];
}

/**
 * Whether a file is at a path, which may lack the ending of tests or be a folder.
 * @param {string} file
 * @param {string} path
 */
function isAt(file, path) {
  return [path, `${path}.test.ts`].includes(file) || file.startsWith(`${path}/`);
}

/** @param {string} titles */
function titlesIn(titles) {
  return [...titles.matchAll(/"([^"]+)"/g)].map(([, title = '']) => title);
}

/**
 * Whether a test of vitest is at a path and its name, with those of its suites, contains the parts
 * of a title, which `…` separates.
 * @param {string} test
 * @param {string} path
 * @param {string} title
 */
function isCalled(test, path, title) {
  const [file = '', ...names] = test.split(' > ');
  const parts = title.split('…').map((part) => part.trim().replace(PATTERN, '\\$&'));
  return isAt(file, path) && new RegExp(parts.join('.*')).test(names.join(' '));
}

/**
 * @param {string} name of a test of the core, or of a module: `bus::follows::*`
 * @param {string[]} tests
 * @param {string[]} files
 */
function isRust(name, tests, files) {
  const [module = '', isModule] = [name.replace(/::\*$/, ''), name.endsWith('::*')];
  // Tests in Chromium are not listed.
  if (files.includes(`${module}/main.rs`)) return true;
  return tests.some((test) => {
    const path = `::${test.replace(/^rust /, '')}`;
    return isModule ? path.includes(`::${module}::`) : path.endsWith(`::${name}`);
  });
}

const LANES =
  'browser|buses|conformance|console|core|faults|fuzz|interop|model|node|package|workerd';
const PATH = new RegExp(`\`((?:${LANES})/[\\w./-]+)\`((?:,? "[^"]+")*)`, 'g');
const RUST = /`((?:[a-z_]\w*::)*[a-z_]\w*)::(\*|[a-z_]\w*)`/g;
/** A file of the core by its name, and a test of it. */
const RUST_FILE = /`([a-z_]\w*)\.rs`(?: `([a-z_]\w*)`)?/g;
const PATTERN = /[.*+?^${}()|[\]\\]/g;
