import { expect, test } from 'vitest';
import { documentOf } from '../../../scripts/lint/evidence/requirements.mjs';
import {
  checks,
  type Evidence,
  type Part,
  parts,
  type Row,
  rowsOf,
  type SuiteRun,
} from '../../../scripts/lint/manifest.mjs';

const ROW: Row = {
  id: 'A01',
  level: 'MUST',
  spec: 'Base',
  text: 'It works.',
  by: 'ours',
  tests: ['rust id::works'],
};
const RUNS: SuiteRun[] = [
  {
    subject: 'worker-2025-11-25',
    scenarios: { passed: 3, failed: ['a', 'b'] },
    checks: { passed: 7, failed: 2 },
  },
];
const ATTRIBUTED = 'every requirement with tests says who shows it';
const UNTESTED: Row = { id: 'A01', level: 'MUST', spec: 'Base', text: 'It works.' };

test.each<[string, Row[], string]>([
  [
    'neither tests nor a reason',
    [UNTESTED],
    'every requirement is proven by tests or says why it is not',
  ],
  [
    'no test',
    [{ ...UNTESTED, tests: [] }],
    'every requirement is proven by tests or says why it is not',
  ],
  [
    'tests and a reason',
    [{ ...ROW, notYet: 'soon' }],
    'every requirement is proven by tests or says why it is not',
  ],
  [
    'an empty reason',
    [{ ...UNTESTED, notOurs: '' }],
    'every requirement is proven by tests or says why it is not',
  ],
  ['tests and no share', [{ ...UNTESTED, tests: ROW.tests ?? [] }], ATTRIBUTED],
  ['an unknown share', [{ ...ROW, by: 'proven' as 'ours' }], ATTRIBUTED],
  ['a partial share and no reservation', [{ ...ROW, by: 'partly' }], ATTRIBUTED],
  [
    'the share of an upstream server and no reservation',
    [{ ...ROW, by: 'upstream', but: '' }],
    ATTRIBUTED,
  ],
  ['a reservation on a share of ours', [{ ...ROW, but: 'not all' }], ATTRIBUTED],
  ['a share, but no tests', [{ ...UNTESTED, by: 'ours', notYet: 'soon' }], ATTRIBUTED],
  ['nothing but the official suite', [{ ...ROW, tests: ['suite r s c'] }], ATTRIBUTED],
  [
    'an unknown field',
    [{ ...ROW, note: 'x' } as Row],
    'every requirement has one id, a level, a source and a wording',
  ],
  ['a duplicate id', [ROW, ROW], 'every requirement has one id, a level, a source and a wording'],
  [
    'no source',
    [{ ...ROW, spec: '' }],
    'every requirement has one id, a level, a source and a wording',
  ],
  [
    'an unknown test',
    [{ ...ROW, tests: ['rust id::work'] }],
    'every test that the manifest names exists',
  ],
])('a row with %s is found', (_name, rows, check) => {
  expect(failing(evidence(rows))).toEqual([check]);
});

test('a row with a reason needs no test', () => {
  expect(failing(evidence([ROW, { ...UNTESTED, id: 'A02', notYet: 'soon' }]))).toEqual([]);
});

test('the tables count each share separately, and show its reservation', () => {
  const rows: Row[] = [
    { ...ROW, by: 'partly', but: 'one half' },
    { ...ROW, id: 'A02', by: 'upstream', but: 'all' },
  ];
  const { document } = evidence([...rows, { ...ROW, id: 'A03' }]);
  expect(document).toContain('| **All** | 1 | 1 | 1 | 0 | 0 |');
  expect(document).toContain('| *partly*: one half<br>`rust id::works` |');
  expect(document).toContain('| *by the upstream server*: all<br>`rust id::works` |');
  expect(document).toContain('| Base | `rust id::works` |');
  expect(document).toContain(
    '| 2025-11-25, a Worker of two isolates | 3 of 5 | 7 of 9 | `a`, `b` |',
  );
});

test('an outdated page is found', () => {
  const fresh = evidence([ROW]);
  expect(failing({ ...fresh, document: `${fresh.document} ` })).toEqual([
    'docs/requirements.md matches the manifest',
  ]);
});

// Numbers are not reused, so a row that is gone leaves a gap.
test.each<[string, number]>([
  ['A', 32],
  ['B', 12],
  ['C', 24],
  ['D', 21],
  ['E', 25],
  ['F', 10],
  ['G', 50],
  ['N', 100],
])('the manifest has every requirement of the series %s, up to %i', async (series, last) => {
  const ids = rowsOf(await parts()).map(({ id }) => id);
  const numbers = ids.flatMap((id) =>
    id.startsWith(series) ? Number.parseInt(id.slice(1), 10) : [],
  );
  const ascending = [...new Set(numbers)].sort((one, other) => one - other);
  expect(ascending).toEqual(Array.from({ length: last }, (_, place) => place + 1));
});

test.each([
  ['a name that no test of the core has', 'cargo test --test core id::worked'],
  ['a name that no test has', "vitest run --project node wasm-tests/node/a/b.test.ts -t 'it did'"],
  ['names that a space joins', "vitest run --project node -t 'a part it works'"],
  ['a file that does not exist', "vitest run --project node wasm-tests/node/b.test.ts -t 'works'"],
  ['another lane', "vitest run --project workerd -t 'works'"],
  ['an option that no mutation has', "vitest --run --project node -t 'works'"],
])('a command of a mutation with %s is found', (_what, command) => {
  const found = failing({ ...evidence([ROW]), commands: [command] });
  expect(found).toEqual(['every command of a mutation selects a test']);
});

test('a command of a mutation may select by the names of a suite and a test, or by a folder', () => {
  const commands = [
    'cargo test --test core id::works',
    'node scripts/setup/python.mjs && vitest run --project node wasm-tests/node/a',
    'vitest run --project node wasm-tests/node/a/b.test.ts -t "part > it"',
    "vitest run --project node -t '^a .* works|it does'",
    'node bench/check.ts',
  ];
  expect(failing({ ...evidence([ROW]), commands })).toEqual([]);
});

test.each([
  ['a test of the core', '`id::worked`'],
  ['a module of the core', '`ids::*`'],
  ['a test of a file of the core', '`id.rs` `worked`'],
  ['a file', '`node/b.test.ts`'],
  ['a path without an ending', '`node/a/c`'],
  ['a title', '`node/a/b` "it did"'],
  ['a second title, in another line', '`node/a/b` "it works",\n"it did"'],
  ['a title of another file', '`browser/ends.rs` "it works"'],
])('a page of evidence with the name of %s that does not exist is found: %s', (_what, text) => {
  const found = failing({ ...evidence([ROW]), pages: [['attacks', text]] });
  expect(found).toEqual(['every test that a page of evidence names exists']);
});

test('a page of evidence may name files, folders, modules, tests, and parts of their titles', () => {
  const text = [
    '`id::works`, `id::*`, `browser::*`, (`id.rs` `works`), `id.rs`, `server.rs2`, `A::B`',
    '`node/a/b.test.ts`, `node/a/b` "a part it works", "a … works", `node/a` "it", `node/a`',
    '`browser/ends.rs` and "any other words"',
  ].join('\n');
  expect(failing({ ...evidence([ROW]), pages: [['attacks', text]] })).toEqual([]);
});

function evidence(rows: Row[]): Evidence {
  const all: Part[] = [{ part: 'A', title: 'All', rows }];
  return {
    parts: all,
    runs: RUNS,
    known: new Set(['rust id::works', 'suite r s c', 'node/a/b.test.ts > a part > it works']),
    commands: [],
    document: documentOf(all, RUNS),
    pages: [['proven', '`id::works`']],
    files: ['node/a/b.test.ts', 'browser/main.rs', 'browser/ends.rs'],
  };
}

function failing(given: Evidence): string[] {
  return checks.filter(([, find]) => find(given).length > 0).map(([name]) => name);
}
