import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checks, type Evidence, type Part, parts, type Row, rowsOf } from '../../scripts/manifest.mjs';
import { root } from '../../scripts/project.mjs';
import { documentOf, summaryOf } from '../../scripts/requirements.mjs';

const ROW: Row = { id: 'A01', level: 'MUST', spec: 'Base', text: 'It works.', tests: ['rust id::works'] };
const UNTESTED: Row = { id: 'A01', level: 'MUST', spec: 'Base', text: 'It works.' };

test.each<[string, Row[], string]>([
  ['no ground', [UNTESTED], 'every requirement is proven by tests or says why it is not'],
  ['no test', [{ ...ROW, tests: [] }], 'every requirement is proven by tests or says why it is not'],
  ['two grounds', [{ ...ROW, notYet: 'soon' }], 'every requirement is proven by tests or says why it is not'],
  ['an empty reason', [{ ...UNTESTED, notOurs: '' }], 'every requirement is proven by tests or says why it is not'],
  ['an id of another', [ROW, ROW], 'every requirement has one id, a level, a source and a wording'],
  ['no source', [{ ...ROW, spec: '' }], 'every requirement has one id, a level, a source and a wording'],
  ['a test that is none', [{ ...ROW, tests: ['rust id::work'] }], 'every test that the manifest names exists'],
])('a row with %s is found', (_name, rows, check) => {
  expect(failing(evidence(rows))).toEqual([check]);
});

test('a row with a reason needs no test', () => {
  expect(failing(evidence([ROW, { ...UNTESTED, id: 'A02', notYet: 'soon' }]))).toEqual([]);
});

test('tables that are behind the manifest are found', () => {
  const fresh = evidence([ROW]);
  expect(failing({ ...fresh, document: `${fresh.document} ` })).toEqual([
    'docs/requirements.md says what the manifest says',
  ]);
  expect(failing({ ...fresh, readme: fresh.readme.replace('| 1 |', '| 2 |') })).toEqual([
    'README.md counts what the manifest counts',
  ]);
});

test('every requirement that was gathered is in the manifest', async ({ skip }) => {
  const gathered = join(root, '..', 'shared', 'PROTOCOL.md');
  skip(!existsSync(gathered), 'the gathered requirements are not beside this clone');
  const ids = [...(await readFile(gathered, 'utf8')).matchAll(/^\| ([A-F]\d\d|G\d+\w?) \|/gm)].map(([, id]) => id);
  expect(ids.length).toBeGreaterThan(100);
  const known = rowsOf(await parts()).map(({ id }) => id);
  const further = known.filter((id) => !ids.includes(id));
  // What this project promises beyond them is its own.
  for (const id of further) expect(id).toMatch(/^G/);
  expect(new Set(known)).toEqual(new Set([...ids, ...further]));
});

function evidence(rows: Row[]): Evidence {
  const all: Part[] = [{ part: 'A', title: 'All', rows }];
  const readme = `before\n<!-- requirements -->\n${summaryOf(all)}<!-- /requirements -->\nafter`;
  return { parts: all, known: new Set(['rust id::works']), readme, document: documentOf(all) };
}

function failing(given: Evidence): string[] {
  return checks.filter(([, find]) => find(given).length > 0).map(([name]) => name);
}
