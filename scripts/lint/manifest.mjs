import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { environment, run } from '../process/command.mjs';
import { main } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { tap } from '../process/tap.mjs';
import { missingIn } from './evidence/pages.mjs';
import { documentOf } from './evidence/requirements.mjs';

/** @typedef {import('./evidence/requirements.mjs').Part} Part */
/** @typedef {import('./evidence/requirements.mjs').Row} Row */
/** @typedef {import('./evidence/requirements.mjs').SuiteRun} SuiteRun */
/**
 * @typedef {object} Evidence
 * @property {Part[]} parts
 * @property {SuiteRun[]} runs
 * @property {Set<string>} known the names of all tests
 * @property {string[]} commands of the mutations, each of which has to select tests
 * @property {string} document
 * @property {Array<[name: string, text: string]>} pages that name tests as evidence
 * @property {string[]} files the paths in `wasm-tests`
 */

/** The folder of the manifest, one file for each part. */
export const folder = join(root, 'wasm-tests', 'requirements');

/** The variable that the set-up of tests reads: they are listed, and none runs. */
export const LISTING = 'MCP_LISTEN_LISTING';

/** The recorded results of the official conformance suite. */
const records = join(root, 'wasm-tests', 'conformance', 'checks');

/** The patches of the mutations. */
const mutations = join(root, 'wasm-tests', 'mutants');

/** The other pages that name tests. */
const evidencePages = ['attacks', 'gateway-attacks', 'promises', 'proven'];

const documentFile = join(root, 'docs', 'requirements.md');

/**
 * Checks the manifest of requirements, one TAP line each; with `--write`, writes the page from it.
 */
async function manifest() {
  if (process.argv.includes('--write')) return write();
  const evidence = {
    parts: await parts(),
    runs: await runs(),
    known: await knownTests(),
    commands: await commands(),
    document: await readDocument(),
    pages: await pages(),
    files: await readdir(join(root, 'wasm-tests'), { recursive: true }),
  };
  await tap(checks, evidence);
}

/**
 * The rules of the manifest: each check returns what breaks one of them.
 * @type {Array<[name: string, find: (evidence: Evidence) => string[]]>}
 */
export const checks = [
  [
    'every requirement is proven by tests or says why it is not',
    ({ parts }) => rowsOf(parts).flatMap(unfounded),
  ],
  [
    'every requirement with tests says who shows it',
    ({ parts }) => rowsOf(parts).flatMap(misattributed),
  ],
  [
    'every requirement has one id, a level, a source and a wording',
    ({ parts }) => malformed(rowsOf(parts)),
  ],
  [
    'every test that the manifest names exists',
    ({ parts, known }) => rowsOf(parts).flatMap((row) => absent(row, known)),
  ],
  [
    'docs/requirements.md matches the manifest',
    ({ parts, runs, document }) => stale(document, documentOf(parts, runs)),
  ],
  [
    'every command of a mutation selects a test',
    ({ commands, known }) => commands.filter((command) => !selectsOf(command, [...known])),
  ],
  [
    'every test that a page of evidence names exists',
    ({ pages, known, files }) =>
      pages.flatMap(([name, text]) =>
        missingIn(text, known, files).map((missing) => `docs/${name}.md names ${missing}`),
      ),
  ],
];

/** @returns {Promise<Part[]>} */
export async function parts() {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.json')).sort();
  return Promise.all(
    files.map(async (file) => JSON.parse(await readFile(join(folder, file), 'utf8'))),
  );
}

/** @returns {Promise<SuiteRun[]>} */
async function runs() {
  const files = await texts(records, '.json');
  return files.sort().map(([subject, text]) => ({ subject, ...JSON.parse(text) }));
}

/** @param {Part[]} all */
export function rowsOf(all) {
  return all.flatMap(({ rows }) => rows);
}

/** @param {Row} row */
function unfounded({ id, tests, notYet, notOurs }) {
  const grounds = [tests, notYet, notOurs].filter(
    (ground) => ground !== undefined && ground.length > 0,
  );
  return grounds.length === 1
    ? []
    : [`${id} has ${grounds.length} of tests, notYet and notOurs, not one`];
}

/** @param {Row} row */
function misattributed({ id, by, but, tests = [] }) {
  if (tests.length === 0)
    return by === undefined && but === undefined ? [] : [`${id} has no tests, but by or but`];
  if (by === undefined || !['ours', 'partly', 'upstream'].includes(by))
    return [`${id} is by ${by}`];
  if ((by === 'ours') !== (but === undefined) || but === '')
    return [`${id} is by ${by}, and but is ${but}`];
  return tests.every((test) => test.startsWith('suite '))
    ? [`${id} rests on the official suite alone`]
    : [];
}

const FIELDS = ['id', 'level', 'spec', 'text', 'by', 'but', 'tests', 'notYet', 'notOurs'];

/** @param {Row[]} rows */
function malformed(rows) {
  const seen = new Set();
  return rows.flatMap((row) => {
    const { id, level, spec, text } = row;
    const isNew = !seen.has(id);
    seen.add(id);
    if (Object.keys(row).some((field) => !FIELDS.includes(field)))
      return [`${id} has an unknown field`];
    return isNew &&
      [id, level, spec, text].every((field) => typeof field === 'string' && field !== '')
      ? []
      : [id];
  });
}

/**
 * @param {Row} row
 * @param {Set<string>} known
 */
function absent({ id, tests = [] }, known) {
  return tests.filter((test) => !known.has(test)).map((test) => `${id} names ${test}`);
}

/**
 * Returns whether a command of cargo or vitest selects any of these tests. Vitest compares `-t`
 * with the names of the suites and of the test, joined by ` > `. Other programs select no tests by
 * name.
 * @param {string} command
 * @param {string[]} known
 */
function selectsOf(command, known) {
  const [, core] = /^cargo test --test \w+ (\S+)$/.exec(command) ?? [];
  if (core !== undefined) return known.some((test) => /^rust /.test(test) && test.includes(core));
  if (!/\b(cargo|vitest)\b/.test(command)) return true;
  const options = /vitest run --project (\w+)\S*(?: (wasm-tests\/\S+))?(?: -t (['"])(.+)\3)?$/;
  const [, lane, file = '', , name = ''] = options.exec(command) ?? [];
  return known.some((test) => {
    const [path = '', ...names] = `wasm-tests/${test}`.split(' > ');
    const isThere = path.startsWith(`wasm-tests/${lane}/`) && path.includes(file);
    return isThere && new RegExp(name).test(names.join(' > '));
  });
}

/**
 * @param {string} actual
 * @param {string} expected
 */
function stale(actual, expected) {
  return actual === expected ? [] : ['run `npm run requirements`'];
}

/** Returns the names of all tests, as the manifest writes them. */
async function knownTests() {
  const lists = await Promise.all([rustTests(), vitestTests(), suiteChecks()]);
  return new Set(lists.flat());
}

async function rustTests() {
  const files = await texts(join(root, 'wasm-tests', 'core'), '.rs');
  return files.flatMap(([name, text]) => {
    const module = name.replace(/\/mod$/, '').replaceAll('/', '::');
    const tests = text.matchAll(/^#\[test\]\n(?:#\[.+\]\n)*fn (\w+)/gm);
    return [...tests].map(([, test]) => `rust ${module}::${test}`);
  });
}

/**
 * Returns the tests as vitest collects them: each row of a table is a test. No test runs, so the
 * files need no separate processes.
 */
async function vitestTests() {
  const env = { ...environment, [LISTING]: '1' };
  const list = await run('vitest', ['list', '--json', '--no-static-parse', '--no-isolate'], {
    env,
  });
  const tests = /** @type {Array<{ name: string, file: string }>} */ (
    JSON.parse(list.slice(list.indexOf('[')))
  );
  return tests.map(({ name, file }) => `${relative(join(root, 'wasm-tests'), file)} > ${name}`);
}

/** Returns the recorded checks; the lane `conformance` fails if one of them does not pass. */
async function suiteChecks() {
  const files = await texts(records, '.txt');
  return files.flatMap(([name, text]) =>
    text
      .trim()
      .split('\n')
      .map((line) => `suite ${name} ${line}`),
  );
}

/**
 * Returns the files of a folder and of its folders, by their path without the ending.
 * @param {string} directory
 * @param {string} ending
 * @returns {Promise<Array<[name: string, text: string]>>}
 */
async function texts(directory, ending) {
  const all = await readdir(directory, { recursive: true });
  const files = all.filter((file) => file.endsWith(ending));
  return Promise.all(
    files.map(async (file) => [
      file.slice(0, -ending.length),
      await readFile(join(directory, file), 'utf8'),
    ]),
  );
}

async function commands() {
  const patches = await texts(mutations, '.patch');
  return patches.map(([, text]) => /^Red:\s*(.+)$/m.exec(text)?.[1] ?? '');
}

/** @returns {Promise<Array<[name: string, text: string]>>} */
async function pages() {
  return Promise.all(
    evidencePages.map(async (name) => [
      name,
      await readFile(join(root, 'docs', `${name}.md`), 'utf8'),
    ]),
  );
}

function readDocument() {
  return readFile(documentFile, 'utf8').catch(() => '');
}

async function write() {
  await writeFile(documentFile, documentOf(await parts(), await runs()));
}

await main(import.meta.url, manifest);
