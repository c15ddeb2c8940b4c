/**
 * Who shows that a requirement is met. `ours`: tests of our own show it of every message that this project answers or writes; `partly`: they
 * show a part, and `but` says what of it is left to whom; `behind`: the server behind meets it, `but` says so, and our tests show that it gets
 * the request, and its client the answer, unchanged.
 * @typedef {'ours' | 'partly' | 'behind'} Share
 */
/**
 * @typedef {object} Row one requirement: either tests prove it, or it says why none does
 * @property {string} id
 * @property {string} level MUST, SHOULD, MAY ..., as the specification has it; `schema` where its schema says so, `ours` where we do
 * @property {string} spec revision and section
 * @property {string} text in our words
 * @property {Share} [by] of a requirement with tests: who shows it
 * @property {string} [but] of one that is shown partly or by the server behind: what is not ours
 * @property {string[]} [tests] `rust module::name`, `FILE.test.ts > name` or `suite REPORT scenario check`
 * @property {string} [notYet] what is missing
 * @property {string} [notOurs] whose it is, or why nobody's
 */
/** @typedef {{ part: string, title: string, rows: Row[] }} Part */
/**
 * @typedef {object} SuiteRun what the lane `conformance` has on record of one run of the official suite, by its scored scenarios
 * @property {string} subject `HOST-REVISION`
 * @property {{ passed: number, failed: string[] }} scenarios
 * @property {{ passed: number, failed: number }} checks
 */

/**
 * The whole manifest as docs/requirements.md shows it.
 * @param {Part[]} parts
 * @param {SuiteRun[]} runs
 */
export function documentOf(parts, runs) {
  return `${INTRODUCTION}\n${summaryOf(parts, runs)}${parts.map(sectionOf).join('')}`;
}

/**
 * How many requirements of each part are shown by whom, and what the official suite says, as the README shows it.
 * @param {Part[]} parts
 * @param {SuiteRun[]} runs
 */
export function summaryOf(parts, runs) {
  return `${countsOf(parts)}\n${suiteOf(runs)}`;
}

/** @param {SuiteRun[]} runs */
function suiteOf(runs) {
  const head =
    '| official conformance suite | scenarios passed | checks passed | scenarios that fail |\n|---|---|---|---|\n';
  return `${head}${runs.map(runOf).join('')}`;
}

/** @type {Record<string, string>} */
const HOSTS = {
  node: 'a handler with sessions on Node',
  object: 'a Worker of two isolates, whose handler has its sessions in a Durable Object',
  worker: 'a Worker of two isolates',
};

/** @param {SuiteRun} run */
function runOf({ subject, scenarios, checks }) {
  const [, host = '', revision = ''] = subject.match(/^(\w+)-(.+)$/) ?? [];
  const title = HOSTS[host] ?? host;
  const ofScenarios = `${scenarios.passed} of ${scenarios.passed + scenarios.failed.length}`;
  const ofChecks = `${checks.passed} of ${checks.passed + checks.failed}`;
  const failed = scenarios.failed.map((name) => `\`${name}\``).join(', ') || 'none';
  return `| ${revision}, ${title} | ${ofScenarios} | ${ofChecks} | ${failed} |\n`;
}

/** @param {Part[]} parts */
function countsOf(parts) {
  const lines = parts.map(({ part, title, rows }) => summaryLine(`${part}. ${title}`, rows));
  const all = summaryLine(
    '**All**',
    parts.flatMap(({ rows }) => rows),
  );
  return [
    '| | ours | partly | by the server behind | not yet | not ours |',
    '|---|---|---|---|---|---|',
    ...lines,
    all,
    '',
  ].join('\n');
}

/**
 * @param {string} title
 * @param {Row[]} rows
 */
function summaryLine(title, rows) {
  const by = ['ours', 'partly', 'behind'].map((share) => rows.filter((row) => row.by === share).length);
  const notYet = rows.filter((row) => row.notYet !== undefined).length;
  const notOurs = rows.filter((row) => row.notOurs !== undefined).length;
  return `| ${[title, ...by, notYet, notOurs].join(' | ')} |`;
}

/** @param {Part} part */
function sectionOf({ part, title, rows }) {
  const head = `\n## ${part}. ${title}\n\n| | level | requirement | source | evidence |\n|---|---|---|---|---|\n`;
  return `${head}${rows.map(rowOf).join('')}`;
}

/** @param {Row} row */
function rowOf(row) {
  const cells = [row.id, row.level, row.text, row.spec, evidenceOf(row)];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
}

/** @param {Row} row */
function evidenceOf({ by, but, tests = [], notYet, notOurs }) {
  if (notYet !== undefined) return `*not yet*: ${notYet}`;
  if (notOurs !== undefined) return `*not ours*: ${notOurs}`;
  const share = by === 'behind' ? 'by the server behind' : by;
  const reservation = but === undefined ? [] : [`*${share}*: ${but}`];
  return [...reservation, ...tests.map((test) => `\`${test}\``)].join('<br>');
}

const INTRODUCTION = `# Requirements

What the specification asks of a server of \`subscriptions/listen\`, of those who share a wire with it, and of its clients; what we decided where
the specification is silent; and which tests prove it. This page is written by \`npm run requirements\` from the files in \`wasm-tests/requirements\`;
\`npm test -- lint\` fails when it names a test that does not exist.

A requirement without a further word is *ours*: tests of our own show it of every message that this project answers or writes. Where it says
*partly*, they show a part of it. Where it says *by the server behind*, that server meets it, and our tests show that it gets the request, and the
client its answer, unchanged.

\`rust\` names a test of \`wasm-tests/core\`, a path one of \`wasm-tests\`, \`suite\` a check of the official conformance suite with the record in
\`wasm-tests/conformance/checks\` that holds it. Beside the specification's own levels, \`schema\` is what its schema requires, \`note\` what it only
remarks, and \`ours\` what we decided.
`;
