import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { run } from '../process/command.mjs';
import { main } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { setUp } from '../setup/setup.mjs';
import { checkCore } from './core.mjs';
import { mutants, rules, survivors } from './mutants.mjs';
import { firstOf, pageOf } from './page.mjs';
import { isCargo, MutantTree } from './tree.mjs';

/** @typedef {import('./mutants.mjs').Mutant} Mutant */
/** @typedef {{ mutant: Mutant, isOk: boolean, tests: string[], note: string }} Result */

/** The page that a full run of the patches writes. */
const page = join(root, 'docs', 'mutants.md');

/**
 * Applies each mutation of wasm-tests/mutants to a copy of the committed tree, and expects its test
 * to fail; then runs cargo-mutants over the core. One TAP line each. `--patches` and `--core` run
 * one half; `--list` runs nothing.
 */
async function checkMutants() {
  const options = wanted();
  const all = (await mutants()).filter(
    ({ name }) => options.only === undefined || name === options.only,
  );
  if (all.length === 0 && options.only !== undefined)
    throw new Error(`unknown mutation ${options.only}`);
  if (options.list) return list(all);
  await setUp();
  const tree = await MutantTree.prepare();
  const tap = new Tap();
  if (!options.core) await checkPatches(tree, all, tap, options.only === undefined);
  if (!options.patches && options.only === undefined) await checkCore(options, tap);
  process.stdout.write(`1..${tap.count}\n`);
  process.exitCode = tap.failed > 0 ? 1 : 0;
}

function wanted() {
  const { values } = parseArgs({
    options: {
      list: { type: 'boolean', default: false },
      only: { type: 'string' },
      patches: { type: 'boolean', default: false },
      core: { type: 'boolean', default: false },
      file: { type: 'string', multiple: true, default: [] },
      shard: { type: 'string' },
    },
  });
  return values;
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
 * @param {MutantTree} tree
 * @param {Mutant[]} all
 * @param {Tap} tap
 * @param {boolean} isWhole whether the page may be written
 */
async function checkPatches(tree, all, tap, isWhole) {
  const { patches: reasons } = await survivors();
  const red = await commandsNotGreen(tree, all, tap);
  const results = [];
  for (const mutant of all) {
    const result = red.has(mutant.red)
      ? { mutant, isOk: false, tests: [], note: 'its command fails without it' }
      : await tried(tree, mutant, reasons[mutant.name]);
    tap.line(result.isOk, `${mutant.name}: ${mutant.breaks}`, [result.note]);
    results.push(result);
  }
  for (const name of Object.keys(reasons).filter(
    (name) => isWhole && !all.some((mutant) => mutant.name === name),
  )) {
    tap.line(false, `survivors.json lists ${name}, which is not a mutation`);
  }
  if (isWhole && results.every(({ isOk }) => isOk)) await writePage(results, reasons);
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
    if (verdict === 'broken')
      return { mutant, isOk: false, tests, note: `cannot be judged: ${why}` };
    if (verdict === 'failed' && reason === undefined) {
      return { mutant, isOk: true, tests, note: `killed by ${firstOf(tests, mutant)}` };
    }
    if (verdict === 'failed')
      return { mutant, isOk: false, tests, note: 'killed now: remove it from survivors.json' };
    return {
      mutant,
      isOk: reason !== undefined,
      tests,
      note: `survives: ${reason ?? 'no reason is listed'}`,
    };
  } catch (error) {
    return {
      mutant,
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
 * @param {Result[]} results
 * @param {Record<string, string>} reasons
 */
async function writePage(results, reasons) {
  const commit = (await run('git', ['rev-parse', '--short', 'HEAD'])).trim();
  const before = await readFile(page, 'utf8');
  await writeFile(
    page,
    pageOf(before, { results, reasons, rules: await rules(), commit, at: new Date() }),
  );
}

await main(import.meta.url, checkMutants);
