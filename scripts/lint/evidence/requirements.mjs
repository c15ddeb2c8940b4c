/**
 * Who shows that a requirement is met. `ours`: our tests show it for every message that this
 * project responds to or writes; `partly`: they show a part, and `but` says who is responsible for
 * the rest; `upstream`: the upstream server meets it, `but` says so, and our tests show that the
 * request reaches it, and its response the client, unchanged.
 * @typedef {'ours' | 'partly' | 'upstream'} Share
 */
/**
 * @typedef {object} Row one requirement: tests prove it, or it says why none does
 * @property {string} id
 * @property {string} level MUST, SHOULD, MAY ..., as the specification has it; `schema` where its
 *   schema says so, `ours` where we do
 * @property {string} spec revision and section
 * @property {string} text in our words
 * @property {Share} [by] of a requirement with tests: who shows it
 * @property {string} [but] of one that is shown partly or by the upstream server: what is not ours
 * @property {string[]} [tests] `rust module::name`, `FILE.test.ts > name` or `suite REPORT scenario
 *   check`
 * @property {string} [notYet] what is missing
 * @property {string} [notOurs] who is responsible, or why no one is
 */
/** @typedef {{ part: string, title: string, rows: Row[] }} Part */
/**
 * @typedef {object} SuiteRun the recorded result of one run of the official suite in the lane
 *   `conformance`, for its scored scenarios
 * @property {string} subject `HOST-REVISION`
 * @property {{ passed: number, failed: string[] }} scenarios
 * @property {{ passed: number, failed: number }} checks
 */

/**
 * Returns docs/requirements.md for the manifest.
 * @param {Part[]} parts
 * @param {SuiteRun[]} runs
 */
export function documentOf(parts, runs) {
  const sections = parts.map(sectionOf).join('');
  return `${INTRODUCTION}\n${summaryOf(parts, runs)}\n${SUITE}${sections}\n${NEXT}`;
}

/**
 * Returns how many requirements of each part are shown by whom, and the results of the official
 * suite.
 * @param {Part[]} parts
 * @param {SuiteRun[]} runs
 */
function summaryOf(parts, runs) {
  return `${countsOf(parts)}\n${suiteOf(runs)}`;
}

/** @param {SuiteRun[]} runs */
function suiteOf(runs) {
  const head =
    '| official conformance suite | scenarios passed | checks passed | scenarios that fail |\n' +
    '|---|---|---|---|\n';
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
    '| | ours | partly | by the upstream server | not yet | not ours |',
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
  const by = ['ours', 'partly', 'upstream'].map(
    (share) => rows.filter((row) => row.by === share).length,
  );
  const notYet = rows.filter((row) => row.notYet !== undefined).length;
  const notOurs = rows.filter((row) => row.notOurs !== undefined).length;
  return `| ${[title, ...by, notYet, notOurs].join(' | ')} |`;
}

/** @param {Part} part */
function sectionOf({ part, title, rows }) {
  const head =
    `\n## ${part}. ${title}\n\n` +
    '| | level | requirement | source | evidence |\n|---|---|---|---|---|\n';
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
  const share = by === 'upstream' ? 'by the upstream server' : by;
  const reservation = but === undefined ? [] : [`*${share}*: ${but}`];
  return [...reservation, ...tests.map((test) => `\`${test}\``)].join('<br>');
}

const INTRODUCTION = `# Requirements

This page lists what the specification requires of a server of \`subscriptions/listen\`, of the
parties that share its wire, and of its clients; what this project decided where the specification
is silent; and the tests that prove each row. \`npm run requirements\` writes the page from the
files in \`wasm-tests/requirements\`. \`npm test -- lint\` fails when a row names a test that does
not exist.

A row without a further word is *ours*: our tests show it for every message that this project
responds to or writes. *Partly* means that they show a part of it. *By the upstream server* means
that the upstream server meets it, and that our tests show that the request reaches it, and its
response the client, unchanged.

\`rust\` names a test of \`wasm-tests/core\`, a path names one of \`wasm-tests\`, \`suite\` names a
check of the official conformance suite with its record in \`wasm-tests/conformance/checks\`. Beside
the levels of the specification, \`schema\` is what its schema requires, \`note\` what it remarks,
and \`ours\` what this project decided.
`;

const SUITE = `\`npm test\` runs everything that the official conformance suite requires of servers
of 2026-07-28 and of 2025-11-25. On a Worker, four scenarios of 2025-11-25, in which the server asks
its client something, need a handler that keeps sessions, for instance in a Durable Object; they
fail with the stateless handler of the SDK. Nine of the ten scenarios of tasks pass with a handler
that serves tasks, on a Worker of two isolates and on Node. The suite does not check the tenth, the
notifications of tasks, yet; [our tests](../wasm-tests/conformance/tasks.test.ts) do, on both.
[server.test.ts](../wasm-tests/conformance/server.test.ts) names each scenario that does not pass,
and why.
`;

const NEXT = 'Next: [mutations](mutants.md), the bugs that these tests have to find.\n';
