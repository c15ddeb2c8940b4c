import { spawnSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parts, rowsOf } from '../../../scripts/lint/manifest.mjs';
import { judged, namedOutcomes, partOf } from '../../../scripts/mutants/core.mjs';
import { blobsOf, judgeOf } from '../../../scripts/mutants/judges.mjs';
import { folder, mutants, parsed, rules, survivors } from '../../../scripts/mutants/mutants.mjs';
import { pageOf } from '../../../scripts/mutants/page.mjs';
import { records } from '../../../scripts/mutants/records.mjs';
import { type Counted, formatOf, outcomeOf } from '../../../scripts/mutants/tree.mjs';
import { root } from '../../../scripts/process/project.mjs';

const PATCH = 'Breaks: it\nShows: invariant 4, P6\nRed: vitest run\n\ndiff --git a/a b/a\n';
const LINES = '--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n';

describe('the mutations', async () => {
  const all = await mutants();

  test.each(all)('$name applies to this tree', ({ file }) => {
    const { status, stderr } = spawnSync('git', ['apply', '--check', file], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    expect(status).toBe(0);
  });

  test('show every rule that has no reason to be missing', async () => {
    const shown = new Set(all.flatMap(({ shows }) => shows));
    const known = await rules();
    const missing = known.filter(({ rule, notYet = '' }) => !shown.has(rule) && notYet === '');
    expect(missing).toEqual([]);
    const requirements = rowsOf(await parts()).map(({ id }) => `requirement ${id}`);
    const names = [...known.map(({ rule }) => rule), ...requirements];
    const unknown = [...shown].filter((rule) => !names.includes(rule));
    expect(unknown).toEqual([]);
  });

  test('are patches, and each survivor has a reason', async () => {
    const names = all.map(({ name }) => name);
    const data = ['core.json', 'patches.json', 'rules.json', 'survivors.json'];
    const others = (await readdir(folder)).filter(
      (file) => !file.endsWith('.patch') && !data.includes(file),
    );
    expect(others).toEqual([]);
    const ofNothing = Object.keys(await records()).filter((name) => !names.includes(name));
    expect(ofNothing).toEqual([]);
    const { core, patches } = await survivors();
    expect(Object.keys(patches).filter((name) => !names.includes(name))).toEqual([]);
    for (const reason of Object.values({ ...core, ...patches })) expect(reason).toMatch(/\w+/);
  });

  test('have their records on the page: `npm run check:mutants -- --page` writes it', async () => {
    const page = await readFile(join(root, 'docs', 'mutants.md'), 'utf8');
    const { patches: reasons } = await survivors();
    const [ran, blobs] = [await records(), await blobsOf()];
    const content = { all, records: ran, reasons, rules: await rules(), blobs };
    expect(withoutJudges(page)).toBe(withoutJudges(pageOf(page, content)));
  });
});

describe('a patch', () => {
  test('states what it breaks, the rules that it shows and the command that fails', () => {
    expect(parsed('a.patch', PATCH)).toEqual({
      name: 'a',
      file: join(folder, 'a.patch'),
      breaks: 'it',
      shows: ['invariant 4', 'P6'],
      red: 'vitest run',
      digest: expect.stringMatching(/^[\da-f]{64}$/),
    });
  });

  test.each([
    ['the command', ['vitest run', 'vitest run a'], false],
    ['a line that it adds', ['+2', '+3'], false],
    ['a line that it removes', ['-two', '-2'], false],
    ['what it breaks', ['Breaks: it', 'Breaks: this'], true],
    ['the numbers of its lines', ['-1,3 +1,3', '-9,3 +9,3'], true],
    ['a line around', [' three', ' 3'], true],
  ] as const)('after a change of %s, %j, has the same digest: %s', (_what, [from, to], isKept) => {
    const digestOf = (text: string) => parsed('a.patch', text).digest;
    const whole = `${PATCH}${LINES}`;
    expect(whole).toContain(from);
    expect(digestOf(whole.replace(from, to)) === digestOf(whole)).toBe(isKept);
  });

  test.each([
    ['no diff', PATCH.replace('diff', 'patch')],
    ['no command', PATCH.replace('Red', 'Run')],
    ['two commands', `Red: true\n${PATCH}`],
    ['an unknown rule', PATCH.replace('P6', 'promise 6')],
  ])('with %s is refused', (_name, text) => {
    expect(() => parsed('a.patch', text)).toThrow('a.patch');
  });
});

describe('a command', () => {
  test('kills a mutant if a test has failed, with the message of that test', () => {
    const failures = ['a.test.ts > b\nError: c\n  at d', 'a.test.ts > e\nError: f'];
    expect(outcomeOf(1, { passed: 2, failed: 2, failures })).toEqual({
      verdict: 'failed',
      tests: ['a.test.ts > b', 'a.test.ts > e'],
      reason: 'Error: c',
    });
    expect(outcomeOf(0, { passed: 2, failed: 0 })).toMatchObject({ verdict: 'passed' });
  });

  test.each<[string, number | string, Counted]>([
    ['compiles nothing', 1, {}],
    ['selects no test', 1, { passed: 0, failed: 0 }],
    ['fails before its tests', 1, { passed: 0, failed: 0, failures: ['a.test.ts\nError: b'] }],
    ['fails after its tests', 1, { passed: 2, failed: 0 }],
    ['does not end', 'a timeout after 600 s', {}],
  ])('that %s is not judged', (_what, status, counted) => {
    expect(outcomeOf(status, counted)).toMatchObject({ verdict: 'broken' });
  });

  test.each([
    ['vitest run --project node', 'vitest'],
    ['node scripts/setup/python.mjs && vitest run --project interop', 'vitest'],
    ['cargo test --test core a', 'cargo'],
    ['node bench/check.ts', 'tap'],
  ])('%s reports its tests as %s', (command, format) => expect(formatOf(command)).toBe(format));
});

describe('mutants of the core', () => {
  const outcome = (name: string, summary: string) => ({
    scenario: { Mutant: { name, file: 'src/a.rs' } },
    summary,
  });

  test('keep their names when lines move, and equal names get a number', () => {
    const names = ['src/a.rs:1:2: replace a with ()', 'src/a.rs:3:4: replace a with ()'];
    const outcomes = [
      { scenario: 'Baseline' as const, summary: 'Success' },
      outcome('src/a.rs:3:4: replace a with ()', 'MissedMutant'),
    ];
    expect(namedOutcomes(outcomes, names)).toEqual([
      { name: 'src/a.rs: replace a with () (2)', summary: 'MissedMutant' },
    ]);
  });

  const ran = { digest: '', commit: '', mutants: 2, run: 2, caught: 1, timedOut: 0, unviable: 0 };

  test('need a reason to survive, and each reason needs a survivor', () => {
    const reasons = { 'src/a.rs: one': 'equivalent', 'src/b.rs: one': 'equivalent' };
    expect(judged('src/a.rs', { ...ran, missed: ['src/a.rs: one'] }, reasons)).toEqual([]);
    expect(judged('src/a.rs', { ...ran, missed: ['src/a.rs: two'] }, reasons)).toEqual([
      'survives, and no reason is listed: src/a.rs: two',
      'is listed, and does not survive: src/a.rs: one',
    ]);
  });

  test('are split by files', () => {
    const files = ['a', 'b', 'c'];
    expect([partOf(files, '0/2'), partOf(files, '1/2'), partOf(files)]).toEqual([
      ['a', 'c'],
      ['b'],
      files,
    ]);
    for (const shard of ['2/2', '1', 'a/b', '0/0'])
      expect(() => partOf(files, shard)).toThrow('--shard');
  });
});

/** The page without what changes whenever a test does. */
function withoutJudges(page: string): string {
  return page.replaceAll('an earlier judge: ', '').replace(/\nThe tests of \d+ records .+/, '');
}

describe('the judge of a record', () => {
  const blobs = new Map([
    ['bench/check.ts', '1'],
    ['wasm-tests/core/bus.rs', '2'],
    ['wasm-tests/core/events/mod.rs', '3'],
    ['wasm-tests/faults/faults.test.ts', '4'],
    ['wasm-tests/faults/scenarios/load.ts', '5'],
    ['wasm-tests/fuzz/main.rs', '6'],
    ['wasm-tests/node/a.test.ts', '7'],
  ]);

  test.each([
    ['wasm-tests/node/a.test.ts > works', 'wasm-tests/node/a.test.ts'],
    ['wasm-tests/faults/faults.test.ts > a drain', 'wasm-tests/faults/scenarios/load.ts'],
    ['test bus::follows ... FAILED', 'wasm-tests/core/bus.rs'],
    ['test events::lists ... FAILED', 'wasm-tests/core/events/mod.rs'],
    ['test seeds_differ ... FAILED', 'wasm-tests/fuzz/main.rs'],
    ['sh -c node bench/check.ts "$@" sh', 'bench/check.ts'],
  ])('of the test %s changes with the file %s', (failed, file) => {
    const others = [...blobs.keys()].filter((path) => path !== file);
    const judge = judgeOf([failed], blobs);
    expect(judge).toMatch(/^[\da-f]{16}$/);
    expect(judgeOf([failed], new Map([...blobs, [file, 'new']]))).not.toBe(judge);
    const unrelated = others.filter((path) => !path.startsWith('wasm-tests/faults'));
    for (const path of unrelated)
      expect(judgeOf([failed], new Map([...blobs, [path, 'new']]))).toBe(judge);
  });

  test('is unknown where no file is', () => {
    expect(judgeOf(['wasm-tests/node/gone.test.ts > works'], blobs)).toBeUndefined();
    expect(judgeOf([], blobs)).toBeUndefined();
  });
});

test('the page names what each mutation breaks, the test that fails, and its last run', () => {
  const page = 'a\n<!-- npm run check:mutants writes from here -->\nold\n<!-- to here -->\nb';
  const mutant = (name: string) => {
    return { name, file: '', breaks: 'a | b', shows: ['P6'], red: 'x', digest: 'now' };
  };
  const tests = ['wasm-tests/x.test.ts > works'];
  const run = { commit: 'abc', day: '2026-11-01', tests };
  const blobs = new Map([['wasm-tests/x.test.ts', '1']]);
  const judge = judgeOf(tests, blobs) ?? '';
  const content = {
    all: ['m', 'n', 'o', 'p'].map(mutant),
    records: {
      m: { ...run, digest: 'now', judge },
      o: { ...run, digest: 'then', judge },
      p: { ...run, digest: 'now', judge: 'another' },
    },
    reasons: {},
    blobs,
    rules: [
      { rule: 'P6', text: 'It stays.' },
      { rule: 'P7', text: 'It sleeps.', notYet: 'soon' },
    ],
  };
  const written = pageOf(page, content);
  expect(written).toContain(
    '2 of 4 mutants were killed, all at abc; 1 have a record of an earlier form; ' +
      '1 have no record.\nThe tests of 1 records have changed since.',
  );
  const killed = 'a \\| b | P6 | `wasm-tests/x.test.ts > works`';
  expect(written).toContain(`| \`m\` | ${killed} | 2026-11-01, abc |`);
  expect(written).toContain(`| \`p\` | ${killed} | an earlier judge: 2026-11-01, abc |`);
  expect(written).toContain('| `n` | a \\| b | P6 |  | no record |');
  expect(written).toContain('| `o` | a \\| b | P6 |  | an earlier form: 2026-11-01, abc |');
  expect(written).toContain(
    '| P6 | It stays. | `m`, `n` (no current record), `o` (no current record), `p` |\n' +
      '| P7 | It sleeps. | none yet: soon |',
  );
  expect(written).not.toContain('old');
  expect(pageOf(written, content)).toBe(written);
});
