import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { run } from '../process/command.mjs';
import { main } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { setUp } from '../setup/setup.mjs';
import { checkCore } from './core.mjs';
import { blobsOf, judgeOf } from './judges.mjs';
import { mutants, rules, survivors } from './mutants.mjs';
import { firstOf, pageOf } from './page.mjs';
import { currentOf, record, records } from './records.mjs';
import { isCargo, MutantTree } from './tree.mjs';

/** @typedef {import('./mutants.mjs').Mutant} Mutant */
/** @typedef {{ isOk: boolean, tests: string[], note: string }} Result */

/** The page that a run of patches writes. */
const page = join(root, 'docs', 'mutants.md');

/**
 * Applies each mutation of wasm-tests/mutants to a copy of the committed tree, and expects its test
 * to fail; then runs cargo-mutants over the core. One TAP line each. `--patches` and `--core` run
 * one half; `--rest` continues a run that was interrupted: it skips the patches that have a result
 * of this commit. `--list` runs nothing, and `--page` only writes the page from the records.
 */
async function checkMutants() {
  const options = wanted();
  const all = await mutants();
  const chosen = await chosenOf(all, options);
  if (options.list) return list(chosen);
  if (options.page) return writePage(all);
  await setUp();
  const tree = await MutantTree.prepare();
  const tap = new Tap();
  if (!options.core) {
    await checkPatches(tree, chosen, tap);
    await checkSurvivors(all, tap);
    await writePage(all);
  }
  if (!options.patches && options.only.length === 0) await checkCore(options, tap);
  process.stdout.write(`1..${tap.count}\n`);
  process.exitCode = tap.failed > 0 ? 1 : 0;
}

function wanted() {
  const { values } = parseArgs({
    options: {
      list: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      rest: { type: 'boolean', default: false },
      page: { type: 'boolean', default: false },
      patches: { type: 'boolean', default: false },
      core: { type: 'boolean', default: false },
      file: { type: 'string', multiple: true, default: [] },
      shard: { type: 'string' },
    },
  });
  return values;
}

/**
 * Returns the mutants to run.
 * @param {Mutant[]} all
 * @param {{ only: string[], rest: boolean }} options
 */
async function chosenOf(all, { only, rest }) {
  const unknown = only.filter((wanted) => !all.some(({ name }) => name === wanted));
  if (unknown.length > 0) throw new Error(`unknown mutations: ${unknown.join(', ')}`);
  if (only.length > 0) return all.filter(({ name }) => only.includes(name));
  if (!rest) return all;
  const [ran, commit] = [await records(), await commitOf(root)];
  return all.filter((mutant) => currentOf(mutant, ran)?.commit !== commit);
}

/** @param {Mutant[]} all */
function list(all) {
  for (const { name, breaks, shows, red } of all) {
    process.stdout.write(`${name} (${shows.join(', ')}): ${breaks}\n    ${red}\n`);
  }
}

/** Writes numbered lines in the Test Anything Protocol. */
class Tap {
  count = 0;
  failed = 0;

  /**
   * @param {boolean} isOk
   * @param {string} what
   * @param {string[]} notes
   */
  line(isOk, what, notes = []) {
    this.count += 1;
    if (!isOk) this.failed += 1;
    process.stdout.write(`${isOk ? 'ok' : 'not ok'} ${this.count} - ${what}\n`);
    for (const note of notes) process.stdout.write(`  # ${note}\n`);
  }
}

/**
 * Runs patches, and records each result at once.
 * @param {MutantTree} tree
 * @param {Mutant[]} all
 * @param {Tap} tap
 */
async function checkPatches(tree, all, tap) {
  const { patches: reasons } = await survivors();
  const red = await commandsNotGreen(tree, all, tap);
  const run = {
    commit: await commitOf(MutantTree.path),
    day: new Date().toISOString().slice(0, 10),
  };
  const blobs = await blobsOf('HEAD', MutantTree.path);
  for (const mutant of all) {
    const { digest } = mutant;
    const result = red.has(mutant.red)
      ? { isOk: false, tests: [], note: 'its command fails without it' }
      : await tried(tree, mutant, reasons[mutant.name]);
    tap.line(result.isOk, `${mutant.name}: ${mutant.breaks}`, [result.note]);
    const judge = judgeOf(result.tests, blobs);
    const killed = { ...run, tests: result.tests, digest, ...(judge !== undefined && { judge }) };
    await record(mutant.name, result.isOk ? killed : undefined);
  }
}

/**
 * @param {Mutant[]} all
 * @param {Tap} tap
 */
async function checkSurvivors(all, tap) {
  for (const listed of Object.keys((await survivors()).patches))
    if (!all.some(({ name }) => name === listed))
      tap.line(false, `survivors.json lists ${listed}, which is not a mutation`);
}

/**
 * Runs each command once on the unchanged tree; returns those that fail there.
 * @param {MutantTree} tree
 * @param {Mutant[]} all
 * @param {Tap} tap
 */
async function commandsNotGreen(tree, all, tap) {
  const red = new Set();
  for (const [index, command] of [...new Set(all.map((mutant) => mutant.red))].entries()) {
    const { verdict, reason, tests } = await tree.test(`unchanged-${index + 1}`, command);
    if (verdict !== 'passed') red.add(command);
    tap.line(
      verdict === 'passed',
      `passes without mutations: ${command}`,
      [reason, ...tests].filter(Boolean),
    );
  }
  return red;
}

/**
 * Applies one mutation and runs its command. Any other result than a failing test is an error,
 * unless a reason is listed.
 * @param {MutantTree} tree
 * @param {Mutant} mutant
 * @param {string | undefined} reason why no test is expected to fail
 * @returns {Promise<Result>}
 */
async function tried(tree, mutant, reason) {
  try {
    const {
      verdict,
      tests,
      reason: why,
    } = await tree.patched(mutant.file, () => outcome(tree, mutant));
    if (verdict === 'broken') return { isOk: false, tests, note: `cannot be judged: ${why}` };
    if (verdict === 'failed' && reason === undefined) {
      const message = why === '' ? '' : `: ${why}`;
      return { isOk: true, tests, note: `killed by ${firstOf(tests, mutant)}${message}` };
    }
    if (verdict === 'failed')
      return { isOk: false, tests, note: 'killed now: remove it from survivors.json' };
    return {
      isOk: reason !== undefined,
      tests,
      note: `survives: ${reason ?? 'no reason is listed'}`,
    };
  } catch (error) {
    return {
      isOk: false,
      tests: [],
      note: `cannot be judged: ${error instanceof Error ? error.message : error}`,
    };
  }
}

/**
 * @param {MutantTree} tree
 * @param {Mutant} mutant
 * @returns {Promise<import('./tree.mjs').Outcome>}
 */
async function outcome(tree, { name, red }) {
  // cargo builds what it tests.
  const reason = isCargo(red) ? '' : await tree.build(name);
  return reason === '' ? tree.test(name, red) : { verdict: 'broken', tests: [], reason };
}

/**
 * Writes the page from the records.
 * @param {Mutant[]} all
 */
async function writePage(all) {
  const { patches: reasons } = await survivors();
  const [ran, blobs] = [await records(), await blobsOf()];
  const content = { all, records: ran, reasons, rules: await rules(), blobs };
  await writeFile(page, pageOf(await readFile(page, 'utf8'), content));
}

/** @param {string} cwd */
async function commitOf(cwd) {
  return (await run('git', ['rev-parse', '--short', 'HEAD'], { cwd })).trim();
}

await main(import.meta.url, checkMutants);
