import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../process/command.mjs';

/**
 * Returns the problems that prevent the release of a version from a folder.
 * @param {string} folder of the repository
 * @param {string} version
 * @returns {Promise<string[]>}
 */
export async function problems(folder, version) {
  if (!isVersion(version))
    return [`${JSON.stringify(version)} is not a version such as 1.2.3 or 1.2.3-beta.1`];
  const found = [
    treeProblems(folder),
    versionProblems(folder, version),
    changelogProblems(folder, version),
  ];
  return (await Promise.all([...found, repositoryProblems(folder)])).flat();
}

/** @param {string} version */
export function isVersion(version) {
  return /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z]+(\.[0-9A-Za-z]+)*)?$/.test(
    version,
  );
}

/**
 * A release contains what is committed on main.
 * @param {string} folder
 */
export async function treeProblems(folder) {
  const changed = (await run('git', ['status', '--porcelain'], { cwd: folder })).trim();
  return [
    ...(await branchProblems(folder)),
    ...(changed === '' ? [] : [`there are changes that are not committed:\n${changed}`]),
  ];
}

/**
 * The branch is main. In CI there may be none: the commit is that of origin/main then.
 * @param {string} folder
 */
async function branchProblems(folder) {
  const branch = (await run('git', ['rev-parse', '--abbrev-ref', 'HEAD'], { cwd: folder })).trim();
  if (branch === 'main') return [];
  if (branch !== 'HEAD') return [`the branch is ${branch}, not main`];
  const pointing = ['for-each-ref', '--points-at', 'HEAD', 'refs/remotes/origin/main'];
  const isMain = (await run('git', pointing, { cwd: folder })) !== '';
  return isMain ? [] : ['the commit is not that of origin/main'];
}

/**
 * The package and all crates have the same version.
 * @param {string} folder
 * @param {string} version
 */
export async function versionProblems(folder, version) {
  const stated = await Promise.all(
    versionFields.map(async ({ path, of }) => ({ path, found: of(await text(folder, path)) })),
  );
  return stated
    .filter(({ found }) => found !== version)
    .map(({ path, found }) => `${path} has the version ${found}, not ${version}`);
}

/**
 * The changelog has a section for the version that is not empty, and no unreleased entries.
 * @param {string} folder
 * @param {string} version
 */
export async function changelogProblems(folder, version) {
  const sections = sectionsOf(await text(folder, CHANGELOG));
  const section = sections.find(({ title }) => named(title) === version);
  const waiting = sections.find(({ title, body }) => title === UNRELEASED && body !== '');
  if (section === undefined)
    return [`CHANGELOG.md has no section for ${version}${waiting ? onlyUnreleased : ''}`];
  return [
    ...(section.body === '' ? [`the section for ${version} in CHANGELOG.md is empty`] : []),
    ...(waiting
      ? [`CHANGELOG.md has entries under "Unreleased", which ${version} would include`]
      : []),
  ];
}

/**
 * npm refuses provenance for a package that does not state its repository.
 * @param {string} folder
 */
export async function repositoryProblems(folder) {
  const url = JSON.parse(await text(folder, 'package.json')).repository?.url;
  const crates = ['Cargo.toml', 'browser/Cargo.toml', 'tower/Cargo.toml', 'rmcp/Cargo.toml'];
  const named = await Promise.all(
    crates.map(async (path) => /^repository(\.workspace)? = /m.test(await text(folder, path))),
  );
  return [
    ...(url ? [] : ['package.json names no repository, which provenance needs']),
    ...crates.flatMap((path, place) => (named[place] ? [] : [`${path} names no repository`])),
  ];
}

/**
 * Writes the version into every file that states it, and renames the section "Unreleased" in the
 * changelog unless the version has one.
 * @param {string} folder
 * @param {string} version
 * @param {string} date as in 2026-01-31
 */
export async function prepare(folder, version, date) {
  for (const { path, set } of versionFields)
    await rewrite(folder, path, (content) => set(content, version));
  const present = sectionsOf(await text(folder, CHANGELOG)).some(
    ({ title }) => named(title) === version,
  );
  if (present) return;
  await rewrite(folder, CHANGELOG, (content) =>
    content.replace(/^## Unreleased$/m, `## Unreleased\n\n## ${version} - ${date}`),
  );
}

/** @param {string} changelog */
function sectionsOf(changelog) {
  const [, ...sections] = changelog.split(/^## /m);
  return sections.map((section) => {
    const [title = '', ...lines] = section.split('\n');
    return { title: title.trim(), body: lines.join('\n').trim() };
  });
}

/**
 * The version that a title names, as in "0.1.0 - 2026-01-31".
 * @param {string} title
 */
function named(title) {
  return title.split(' ')[0];
}

/**
 * @param {string} folder
 * @param {string} path
 */
function text(folder, path) {
  return readFile(join(folder, path), 'utf8');
}

/**
 * @param {string} folder
 * @param {string} path
 * @param {(content: string) => string} change
 */
async function rewrite(folder, path, change) {
  await writeFile(join(folder, path), change(await text(folder, path)));
}

/**
 * @param {string} path
 * @param {RegExp} pattern with three groups: the text before the version, the version, and the
 *   text after it
 */
function versionField(path, pattern) {
  return {
    path,
    /** @param {string} content */
    of: (content) => pattern.exec(content)?.[2],
    /**
     * @param {string} content
     * @param {string} version
     */
    set: (content, version) => content.replace(pattern, `$1${version}$3`),
  };
}

const CHANGELOG = 'CHANGELOG.md';
const UNRELEASED = 'Unreleased';
const onlyUnreleased = ', only "Unreleased": --prepare gives it that title';
/** @param {string} name of a crate */
const inLockOf = (name) => new RegExp(`(^name = "${name}"\nversion = ")([^"]+)(")`, 'm');
const inLock = inLockOf('mcp-listen');
const onCore = /(^mcp-listen = \{ version = ")([^"]+)(")/m;
const ofTower = inLockOf('mcp-listen-tower');
const ofRmcp = inLockOf('mcp-listen-rmcp');
const onTower = /(^mcp-listen-tower = \{ version = ")([^"]+)(")/m;
const versionFields = [
  versionField('package.json', /(^ {2}"version": ")([^"]+)(")/m),
  versionField('package-lock.json', /(^ {2}"version": ")([^"]+)(")/m),
  versionField('package-lock.json', /(^ {6}"name": "mcp-listen",\n {6}"version": ")([^"]+)(")/m),
  versionField('js/client/client-info.ts', /(name: 'mcp-listen', version: ')([^']+)(')/),
  versionField('console/mcp/endpoint.ts', /(name: 'mcp-listen-console', version: ')([^']+)(')/),
  versionField('Cargo.toml', /(^\[workspace\.package\]\nversion = ")([^"]+)(")/m),
  ...['', '-bindings', '-browser', '-component'].map((name) =>
    versionField('Cargo.lock', inLockOf(`mcp-listen${name}`)),
  ),
  versionField('browser/Cargo.toml', onCore),
  versionField('tower/Cargo.toml', ofTower),
  versionField('tower/Cargo.toml', onCore),
  versionField('rmcp/Cargo.toml', ofRmcp),
  versionField('rmcp/Cargo.toml', onTower),
  versionField('rmcp/Cargo.lock', ofRmcp),
  ...['tower/Cargo.lock', 'rmcp/Cargo.lock', 'examples/axum/Cargo.lock'].flatMap((path) => [
    versionField(path, inLock),
    versionField(path, ofTower),
  ]),
  versionField('python/pyproject.toml', /(^version = ")([^"]+)(")/m),
  ...['bus', 'client', 'exchange', 'fanout', 'isolate', 'listen', 'shard'].map((name) =>
    versionField(`wit/${name}.wit`, /(^package mcp-listen:core@)([^;]+)(;)/m),
  ),
  versionField(
    'examples/python-component/component.py',
    /(mcp-listen:core\/\{interface\}@)([^"]+)(")/,
  ),
];
