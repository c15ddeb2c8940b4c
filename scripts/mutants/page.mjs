import { judgeOf } from './judges.mjs';
import { currentOf } from './records.mjs';

/** @typedef {import('./mutants.mjs').Mutant} Mutant */
/** @typedef {import('./mutants.mjs').Rule} Rule */
/** @typedef {import('./records.mjs').PatchRecord} PatchRecord */
/** @typedef {import('./records.mjs').Records} Records */
/** @typedef {import('./judges.mjs').Blobs} Blobs */

/**
 * Returns a page whose marked part holds the last result of each patch.
 * @param {string} page
 * @param {object} content
 * @param {Mutant[]} content.all
 * @param {Records} content.records
 * @param {Record<string, string>} content.reasons
 * @param {Rule[]} content.rules
 * @param {Blobs} content.blobs of the tree
 */
export function pageOf(page, { all, records, reasons, rules, blobs }) {
  const rows = all.map((mutant) => mutantRow(mutant, records, reasons[mutant.name], blobs));
  const tables = [
    table(['mutant', 'what it breaks', 'rules', 'the test that fails', 'run'], rows),
    table(
      ['rule', 'what it says', 'mutants'],
      rules.map((rule) => ruleRow(rule, all, records)),
    ),
  ];
  const text = `${summary(all, records)}${olderJudges(all, records, blobs)}`;
  return page.replace(marked, () => [BEGIN, text, ...tables, END].join('\n\n'));
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
 * Returns a line that says how many records are of earlier versions of their tests.
 * @param {Mutant[]} all
 * @param {Records} records
 * @param {Blobs} blobs
 */
function olderJudges(all, records, blobs) {
  const current = all.flatMap((mutant) => currentOf(mutant, records) ?? []);
  const older = current.filter((record) => isOfEarlierJudge(record, blobs)).length;
  return older === 0 ? '' : `\nThe tests of ${older} records have changed since.`;
}

/**
 * @param {PatchRecord} record
 * @param {Blobs} blobs
 */
function isOfEarlierJudge({ judge, tests }, blobs) {
  return tests.length > 0 && (judge === undefined || judge !== judgeOf(tests, blobs));
}

/**
 * @param {Mutant} mutant
 * @param {Records} records
 * @param {string | undefined} reason
 * @param {Blobs} blobs
 */
function mutantRow(mutant, records, reason, blobs) {
  const { name, breaks, shows } = mutant;
  const current = currentOf(mutant, records);
  const test = current && (reason ?? firstOf(current.tests.map(code), mutant));
  const isOlder = current !== undefined && isOfEarlierJudge(current, blobs);
  const last = runOf(records[name], current !== undefined);
  const run = isOlder ? `an earlier judge: ${last}` : last;
  return [code(name), breaks, shows.join(', '), test ?? '', run];
}

/**
 * @param {PatchRecord | undefined} last
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
 * Returns the row of a rule; a mutant without a current record is marked.
 * @param {Rule} rule
 * @param {Mutant[]} all
 * @param {Records} records
 */
function ruleRow({ rule, text, notYet = '' }, all, records) {
  const names = all
    .filter(({ shows }) => shows.includes(rule))
    .map((mutant) => {
      const mark = currentOf(mutant, records) === undefined ? ' (no current record)' : '';
      return `${code(mutant.name)}${mark}`;
    });
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
