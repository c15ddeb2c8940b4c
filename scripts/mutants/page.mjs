/** @typedef {import('./mutants.mjs').Mutant} Mutant */
/** @typedef {import('./mutants.mjs').Rule} Rule */

/**
 * Returns a page whose marked part holds the results of a run of all patches.
 * @param {string} page
 * @param {object} run
 * @param {{ mutant: Mutant, tests: string[] }[]} run.results
 * @param {Record<string, string>} run.reasons
 * @param {Rule[]} run.rules
 * @param {string} run.commit
 * @param {Date} run.at
 */
export function pageOf(page, { results, reasons, rules, commit, at }) {
  const killed = results.filter(({ mutant }) => reasons[mutant.name] === undefined).length;
  const day = at.toISOString().slice(0, 10);
  const head = `\`npm run check:mutants -- --patches\` on ${day}, at ${commit}: ${killed} of ${results.length} mutants killed.`;
  const found = results.map(({ mutant, tests }) =>
    mutantRow(mutant, reasons[mutant.name] ?? firstOf(tests.map(code), mutant)),
  );
  const shown = rules.map((rule) => ruleRow(rule, results));
  const tables = [
    table(['mutant', 'what it breaks', 'rules', 'the test that fails'], found),
    table(['rule', 'what it says', 'mutants'], shown),
  ];
  return page.replace(marked, () => [BEGIN, head, ...tables, END].join('\n\n'));
}

/**
 * @param {Mutant} mutant
 * @param {string} test
 */
function mutantRow({ name, breaks, shows }, test) {
  return [`\`${name}\``, breaks, shows.join(', '), test];
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
 * @param {{ mutant: Mutant }[]} results
 */
function ruleRow({ rule, text, notYet = '' }, results) {
  const names = results
    .filter(({ mutant }) => mutant.shows.includes(rule))
    .map(({ mutant }) => `\`${mutant.name}\``);
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
