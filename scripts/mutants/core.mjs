import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { environment, run } from '../process/command.mjs';
import { onStop } from '../process/main.mjs';
import { cargoBin, root } from '../process/project.mjs';
import { step } from '../process/step.mjs';
import { folder, survivors } from './mutants.mjs';
import { MutantTree } from './tree.mjs';

/**
 * @typedef {{ scenario: 'Baseline' | { Mutant: { name: string } }, summary: string }} CoreOutcome
 */
/**
 * @typedef {object} Record the result of the mutants of one version of a file
 * @property {string} digest of the contents of the file: SHA-256
 * @property {string} commit of the whole tree
 * @property {number} mutants their number
 * @property {number} run how many were run: fewer if the run was interrupted
 * @property {number} caught by a test that failed
 * @property {number} timedOut caught because the tests did not end
 * @property {number} unviable they do not compile
 * @property {string[]} missed no test failed
 */

/** The file with the records of all runs. */
export const recordFile = join(folder, 'core.json');

/**
 * Runs cargo-mutants over the core, one file at a time, and records the results; the core's native
 * tests have to kill the mutants. A run of all files takes many hours.
 * @param {{ file: string[], shard?: string | undefined }} options
 * @param {{ line(isOk: boolean, what: string, notes?: string[]): void }} tap
 */
export async function checkCore({ file: wanted, shard }, tap) {
  await installed();
  const { core: reasons } = await survivors();
  const files = wanted.length > 0 ? wanted : await mutatedFiles();
  await step('Testing the core without mutants', () =>
    run('cargo', ['test', '--test', 'core'], {
      cwd: MutantTree.path,
      env: { ...environment, ...lean },
    }),
  );
  for (const file of partOf(files, shard)) {
    const record = await recordOf(file);
    await write(file, record);
    const faults = judged(file, record, reasons);
    const { caught, timedOut, missed, mutants, unviable } = record;
    const counts =
      `${mutants} mutants, ${caught} caught, ${timedOut} timed out, ` +
      `${missed.length} missed, ${unviable} unviable`;
    tap.line(faults.length === 0, `${file}: ${counts}`, faults);
  }
}

/**
 * Returns every n-th file for the shard `k/n`, counted from 0; all files without one.
 * @param {string[]} files
 * @param {string | undefined} shard
 */
export function partOf(files, shard = '0/1') {
  const [part = 0, parts = 0] = (/^(\d+)\/(\d+)$/.exec(shard) ?? []).slice(1).map(Number);
  if (part >= parts) throw new Error(`--shard is ${shard}: it must be k/n, from 0/n to n-1/n`);
  return files.filter((_, index) => index % parts === part);
}

/**
 * Returns the problems of a record: survivors without a listed reason, and listed mutants that do
 * not survive.
 * @param {string} file
 * @param {Record} record
 * @param {{ [name: string]: string }} reasons
 */
export function judged(file, { missed, run: count, mutants }, reasons) {
  const isOfFile = (/** @type {string} */ name) => name.startsWith(`${file}: `);
  const unlisted = missed.filter((name) => reasons[name] === undefined);
  const gone = Object.keys(reasons).filter((name) => isOfFile(name) && !missed.includes(name));
  return [
    ...unlisted.map((name) => `survives, and no reason is listed: ${name}`),
    ...(count < mutants ? [] : gone).map((name) => `is listed, and does not survive: ${name}`),
  ];
}

/**
 * Returns the result of each mutant, by a name that does not change with edits elsewhere in the
 * file: without line and column, and numbered if several are equal.
 * @param {CoreOutcome[]} outcomes
 * @param {string[]} names of all mutants of the file
 * @returns {{ name: string, summary: string }[]}
 */
export function namedOutcomes(outcomes, names) {
  const seen = new Map();
  const short = new Map(
    names.map((name) => {
      const alike = name.replace(/:\d+:\d+: /, ': ');
      const count = (seen.get(alike) ?? 0) + 1;
      seen.set(alike, count);
      return [name, count === 1 ? alike : `${alike} (${count})`];
    }),
  );
  return outcomes.flatMap(({ scenario, summary }) => {
    if (scenario === 'Baseline') return [];
    return [{ name: short.get(scenario.Mutant.name) ?? scenario.Mutant.name, summary }];
  });
}

/** Compiles cargo-mutants unless the pinned version is installed. */
async function installed() {
  const present = await run(join(cargoBin, 'cargo-mutants'), ['mutants', '--version']).catch(
    () => '',
  );
  if (present.trim() === `cargo-mutants ${VERSION}`) return;
  const places = ['--target-dir', 'target/tools', '--root', '.tools'];
  const args = ['install', 'cargo-mutants', '--locked', '--debug', '--version', VERSION, ...places];
  await step(`Compiling cargo-mutants ${VERSION}, once`, () => run('cargo', args));
}

/** @returns {Promise<string[]>} */
async function mutatedFiles() {
  const files = (await mutantsOf(['--list-files'])).split('\n').filter((file) => file !== '');
  const rank = (/** @type {string} */ file) =>
    first.findIndex((place) => file.startsWith(place)) >>> 0;
  return files.sort((a, b) => rank(a) - rank(b));
}

/**
 * @param {string} file
 * @returns {Promise<Record>}
 */
async function recordOf(file) {
  const text = await readFile(join(MutantTree.path, file));
  /** @type {{ name: string }[]} */
  const listed = JSON.parse(await mutantsOf(['--list', '--json', '--file', file]));
  const names = listed.map(({ name }) => name);
  const outcomes = namedOutcomes(names.length === 0 ? [] : await outcomesOf(file), names);
  const of = (/** @type {string} */ summary) =>
    outcomes.filter((outcome) => outcome.summary === summary);
  return {
    digest: createHash('sha256').update(text).digest('hex'),
    commit: (await run('git', ['rev-parse', '--short', 'HEAD'])).trim(),
    mutants: names.length,
    run: outcomes.length,
    caught: of('CaughtMutant').length,
    timedOut: of('Timeout').length,
    unviable: of('Unviable').length,
    missed: of('MissedMutant').map(({ name }) => name),
  };
}

/**
 * Runs the tests that are named after the room of the file first, which catch most mutants; then
 * all tests for the mutants that these miss.
 * @param {string} file
 * @returns {Promise<CoreOutcome[]>}
 */
async function outcomesOf(file) {
  await rm(output, { recursive: true, force: true });
  await mkdir(output, { recursive: true });
  const [, room = ''] = file.replace(/\.rs$/, '').split('/');
  const quick = await outcomesWith(file, [room]);
  if (quick.every(({ summary }) => summary !== 'MissedMutant')) return quick;
  const rest = await outcomesWith(file, []);
  return [...quick.filter(({ summary }) => summary !== 'MissedMutant'), ...rest];
}

/**
 * Runs the mutants of a file that no earlier run has caught.
 * @param {string} file
 * @param {string[]} tests
 * @returns {Promise<CoreOutcome[]>}
 */
async function outcomesWith(file, tests) {
  // The tests passed before the first file: a baseline for each file would take as long as many
  // mutants.
  const how = [
    '--in-place',
    '--iterate',
    '--baseline',
    'skip',
    '--timeout',
    '300',
    '--output',
    output,
  ];
  await mutantsOf(['--file', file, ...how, '--', '--test', 'core', '--', ...tests]);
  return JSON.parse(await readFile(join(output, 'mutants.out', 'outcomes.json'), 'utf8')).outcomes;
}

/**
 * @param {string[]} args
 * @returns {Promise<string>} its standard output
 */
function mutantsOf(args) {
  const env = { ...process.env, ...lean, PATH: [cargoBin, process.env['PATH']].join(delimiter) };
  const common = ['mutants', '--no-config', '--exclude', 'bindings/**', '--exclude', 'browser/**'];
  const child = spawn('cargo', [...common, ...args], {
    cwd: MutantTree.path,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onStop(() => void child.kill());
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      if (code !== null && ends.includes(code)) resolve(output);
      else reject(new Error(`cargo mutants ${args.join(' ')} ended with ${code}\n${output}`));
    });
  });
}

/**
 * @param {string} file
 * @param {Record} record
 */
async function write(file, record) {
  /** @type {{ [file: string]: Record }} */
  const all = JSON.parse(await readFile(recordFile, 'utf8'));
  const sorted = Object.entries({ ...all, [file]: record }).sort(([a], [b]) => (a < b ? -1 : 1));
  await writeFile(recordFile, `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`);
}

const VERSION = '27.1.0';
const output = join(root, '.build', 'mutants', 'core');
const lean = { CARGO_PROFILE_DEV_DEBUG: 'false', CARGO_PROFILE_TEST_DEBUG: 'false' };
/** Statuses of cargo-mutants: all caught; some missed; some timed out. */
const ends = [0, 2, 3];
/** The files on the path of streams and events come first. */
const first = ['src/fanout', 'src/listen', 'src/upstream', 'src/isolate', 'src/edge', 'src/bus'];
