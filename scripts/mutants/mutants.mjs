import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { root } from '../process/project.mjs';

/**
 * @typedef {object} Mutant one deliberate bug, kept as a patch
 * @property {string} name of its file, without the extension
 * @property {string} file the path of the patch
 * @property {string} breaks what the bug breaks
 * @property {string[]} shows the rules that it breaks: `invariant 4`, `P6`, `S12`, `console`, or
 *   `requirement A26` of docs/requirements.md
 * @property {string} red a shell command that succeeds without the patch and fails with it
 * @property {string} digest of the command and the changed lines: SHA-256
 */
/**
 * @typedef {object} Rule something that the project promises
 * @property {string} rule `invariant 4` or `P6`
 * @property {string} text the promise in one sentence
 * @property {string} [notYet] why no mutation shows it
 */
/**
 * @typedef {{ patches: Record<string, string>, core: Record<string, string> }} Survivors reasons by
 * name
 */

/** The folder of the patches. */
export const folder = join(root, 'wasm-tests', 'mutants');

/**
 * Returns all mutations, sorted by name.
 * @returns {Promise<Mutant[]>}
 */
export async function mutants() {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.patch')).sort();
  return Promise.all(
    files.map(async (file) => parsed(file, await readFile(join(folder, file), 'utf8'))),
  );
}

/**
 * Reads the header of a patch.
 * @param {string} file
 * @param {string} text
 * @returns {Mutant} @throws {Error} if the header is incomplete, or no diff follows it
 */
export function parsed(file, text) {
  const [header = '', diff] = text.split(/^diff --git /m, 2);
  if (diff === undefined) throw new Error(`${file} has no diff`);
  /** @param {string} key */
  const field = (key) => {
    const lines = [...header.matchAll(new RegExp(`^${key}:\\s*(.+)$`, 'gm'))];
    if (lines.length !== 1)
      throw new Error(`${file} has ${lines.length} lines "${key}:" before its diff, not one`);
    return (lines[0]?.[1] ?? '').trim();
  };
  const shows = field('Shows').split(/\s*,\s*/);
  const unknown = shows.filter((rule) => !RULE.test(rule));
  if (unknown.length > 0)
    throw new Error(
      `${file} shows ${unknown.join(', ')}: ` +
        'name rules as "invariant 4", "P6", "S12", "console" or "requirement A26"',
    );
  return {
    name: basename(file, '.patch'),
    file: join(folder, file),
    breaks: field('Breaks'),
    shows,
    red: field('Red'),
    digest: digestOf(field('Red'), text.slice(header.length)),
  };
}

/**
 * Returns a digest of what a result depends on: the command, and the lines that the patch adds and
 * removes. The lines around them and their numbers change with the rest of the code.
 * @param {string} red
 * @param {string} diff
 */
function digestOf(red, diff) {
  const changed = diff.split('\n').filter((line) => /^[-+](?![-+]{2} )/.test(line));
  return createHash('sha256')
    .update([red, ...changed].join('\n'))
    .digest('hex');
}

/**
 * Returns the rules that mutations have to show.
 * @returns {Promise<Rule[]>}
 */
export async function rules() {
  return JSON.parse(await readFile(join(folder, 'rules.json'), 'utf8'));
}

/**
 * Returns the mutants that no test kills, each with its reason.
 * @returns {Promise<Survivors>}
 */
export async function survivors() {
  return JSON.parse(await readFile(join(folder, 'survivors.json'), 'utf8'));
}

const RULE = /^(console|invariant \d+|requirement \w+|[PS]\d+)$/;
