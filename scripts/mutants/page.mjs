import { currentOf } from './records.mjs';

/** @typedef {import('./mutants.mjs').Mutant} Mutant */
/** @typedef {import('./mutants.mjs').Rule} Rule */
/** @typedef {import('./records.mjs').Records} Records */

/**
 * Returns a page whose marked part holds the last result of each patch.
 * @param {string} page
 * @param {object} content
 * @param {Mutant[]} content.all
 * @param {Records} content.records
 * @param {Record<string, string>} content.reasons
 * @param {Rule[]} content.rules
 */
export function pageOf(page, { all, records, reasons, rules }) {
  const rows = all.map((mutant) => mutantRow(mutant, records, reasons[mutant.name]));
  const tables = [
    table(['mutant', 'what it breaks', 'rules', 'the test that fails', 'run'], rows),
    table(
      ['rule', 'what it says', 'mutants'],
      rules.map((rule) => ruleRow(rule, all)),
    ),
  ];
  return page.replace(marked, () => [BEGIN, summary(all, records), ...tables, END].join('\n\n'));
}

/**
 * @param {Mutant[]} all
 * @param {Records} records
 */
function summary(all, records) {
  const run = all.flatMap((mutant) => currentOf(mutant, records) ?? []);
  const killed = run.filter(({ tests }) => tests.length > 0).length;
  const commits = [...new Set(run.map(({ commit }) => commit))];
  const where = commits.length === 1 ? `all at ${commits[0]}` : 'each at the commit in its row';
  const known = all.filter(({ name }) => records[name] !== undefined).length;
  const earlier = known - run.length;
  return [
    `${killed} of ${all.length} mutants were killed, ${where};`,
    ...(earlier > 0 ? [`${earlier} have a record of an earlier form;`] : []),
    `${all.length - known} have no record.`,
  ].join(' ');
}

/**
 * @param {Mutant} mutant
 * @param {Records} records
 * @param {string | undefined} reason
 */
function mutantRow(mutant, records, reason) {
  const { name, breaks, shows } = mutant;
  const current = currentOf(mutant, records);
  const test = current && (reason ?? firstOf(current.tests.map(code), mutant));
  const run = runOf(records[name], current !== undefined);
  return [code(name), breaks, shows.join(', '), test ?? '', run];
}

/**
 * @param {import('./records.mjs').PatchRecord | undefined} last
 * @param {boolean} isCurrent
 */
function runOf(last, isCurrent) {
  if (last === undefined) return 'no record';
  const run = `${last.day}, ${last.commit}`;
  return isCurrent ? run : `an earlier form: ${run}`;
}

/**
 * Returns the test that failed, or the first of several; the command if it reports none.
 * @param {string[]} tests
 * @param {Mutant} mutant
 */
export function firstOf(tests, { red }) {
  const [first = red] = tests;
  return tests.length > 1 ? `${first}, and ${tests.length - 1} more` : first;
}

/**
 * @param {Rule} rule
 * @param {Mutant[]} all
 */
function ruleRow({ rule, text, notYet = '' }, all) {
  const names = all.filter(({ shows }) => shows.includes(rule)).map(({ name }) => code(name));
  return [rule, text, names.length > 0 ? names.join(', ') : `none yet: ${notYet}`];
}

/**
 * @param {string[]} head
 * @param {string[][]} rows
 */
function table(head, rows) {
  const lines = [head, head.map(() => '---'), ...rows.map((row) => row.map(escaped))];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** @param {string} text */
function code(text) {
  return `\`${text}\``;
}

/** @param {string} cell */
function escaped(cell) {
  return cell.replaceAll('|', '\\|');
}

const BEGIN = '<!-- npm run check:mutants writes from here -->';
const END = '<!-- to here -->';
const marked = new RegExp(`${BEGIN}[^]*${END}`);
