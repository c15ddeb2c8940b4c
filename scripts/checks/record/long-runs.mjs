import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { root } from '../../process/project.mjs';
import { treeObstacles, treeState } from './tree.mjs';

/** The page with the latest result of each check that takes too long for `npm test`. */
const page = join(root, 'docs', 'verification.md');

/**
 * Runs a check, and writes its result to the page: only the result of a check that passed, of one
 * commit, in a tree without changes. Otherwise the process ends with 1.
 * @param {string} name the check, such as `check:idle`
 * @param {() => Promise<string>} check resolves with the result in words; rejects if it failed
 * @param {typeof treeObstacles} obstacles returns why the result must not be written
 */
export async function recordRun(name, check, obstacles = treeObstacles) {
  const [load, before] = [loadavg()[0] ?? 0, await treeState()];
  const result = await check();
  process.stdout.write(`${result}\n`);
  const reasons = obstacles(before, await treeState());
  if (reasons.length > 0) {
    process.stderr.write(`docs/verification.md was not written: ${reasons.join('; ')}\n`);
    process.exitCode = 1;
    return;
  }
  const row = rowOf(`\`npm run ${name}\``, result, { commit: before.commit, load });
  await writeFile(page, withRow(await readFile(page, 'utf8'), row));
}

/**
 * Returns the row of a result of today.
 * @param {string} check the first cell
 * @param {string} result in words
 * @param {{ commit: string, load: number }} run its commit, and the load of the machine before it
 */
export function rowOf(check, result, { commit, load }) {
  const machine = `${availableParallelism()} cores, load ${load.toFixed(1)}`;
  return `| ${[check, result, day(), commit, machine].join(' | ')} |`;
}

/**
 * Returns the page with a row in the table of long runs. It replaces the row that begins with the
 * same cell.
 * @param {string} text the page
 * @param {string} row
 */
export function withRow(text, row) {
  const [, head = '', rows = ''] = text.match(table) ?? [];
  if (head === '') throw new Error('docs/verification.md has no table of long runs');
  const others = rows.split('\n').filter((line) => line !== '' && cellOf(line) !== cellOf(row));
  const sorted = [...others, row].sort();
  return text.replace(table, () => `${head}${sorted.join('\n')}\n\n${END}`);
}

/** @param {string} row */
function cellOf(row) {
  return row.split(' | ')[0];
}

function day() {
  return new Date().toISOString().slice(0, 10);
}

const BEGIN = '<!-- each check writes its row here -->';
const END = '<!-- to here -->';
/** The heading of the table with its rule, then its rows. */
const table = new RegExp(`(${BEGIN}\n\n[^\n]*\n[^\n]*\n)([^]*?)\n${END}`);
