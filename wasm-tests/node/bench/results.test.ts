import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Outcome } from '../../../bench/harness/outcome.ts';
import { gaps } from '../../../bench/harness/record/flaws.ts';
import { judged, load, loadFrom, save } from '../../../bench/harness/record/results.ts';
import { documentOf } from '../../../bench/report/document.ts';
import { report } from '../../../bench/report/report.ts';
import { root } from '../../../scripts/process/project.mjs';
import { dense } from './outcomes.ts';

describe('the written results', () => {
  test('of the repository are those of its results.json: `npm run bench -- --report` writes them', async () => {
    const bench = join(root, 'bench');
    const results = await load(join(bench, 'results.json'));
    expect(await readFile(join(bench, 'RESULTS.md'), 'utf8')).toBe(documentOf(results));
  });

  test('are rendered from results.json alone', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mcp-listen-bench-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const points = [0, 10, 1_000].map((x) => ({ x, rounds: [{ rate: x }, { rate: 2 * x }] }));
    const curve: Outcome = {
      ...dense(1, 1),
      name: 'curve',
      proves: [],
      axis: 'streams <&>',
      contenders: [],
    };
    curve.contenders.push({ name: 'mcp-listen', includes: 'all', points });
    await save(folder, judged('quick', MACHINE, [dense(9, 1.3), curve], ['dense', 'curve']));
    await report(folder);
    const text = await readFile(join(folder, 'RESULTS.md'), 'utf8');
    expect(text).toContain(
      '| S1 | dense fan-out, less processor time than the SDK | at least 9 x | 9 | 9 | 9 | holds |',
    );
    expect(text).toContain(
      '| mcp-listen | 0 (0 - 0) | 15 (10 - 20) | 1,500 (1,000 - 2,000) | 1.00 |',
    );
    expect(text).not.toContain('## Incomplete');
    expect(await readdir(join(folder, 'plots'))).toEqual([
      'curve-cpu.svg',
      'curve-rate.svg',
      'dense-cpu.svg',
      'dense-rate.svg',
    ]);
    const svg = await readFile(join(folder, 'plots', 'curve-rate.svg'), 'utf8');
    expect(svg).toContain('streams &lt;&amp;>');
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
  });

  test('have the verdicts at the top level of the file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mcp-listen-bench-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const results = judged('full', MACHINE, [dense(9, 1.3)], ['dense', 'missing']);
    await save(folder, results);
    const file = join(folder, 'results.json');
    const written = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
    expect(written['S1']).toMatchObject({ holds: true, value: 9, unit: 'x', goal: 9 });
    expect(await load(file)).toEqual(results);
    expect(await loadFrom(folder)).toEqual(results);
    expect(await loadFrom(join(folder, 'nowhere'))).toBeUndefined();
  });
});

describe('results', () => {
  const run = (commit: string, load: number) => ({ at: '', commit, command: '', load });
  const of = (name: string, commit: string, load = 0.5): Outcome => ({
    ...dense(9, 1.3),
    ...{ name, run: run(commit, load) },
  });

  test('of one whole run at one commit on an idle machine have no gaps', () => {
    expect(gaps([of('a', '1'), of('b', '1')], [])).toEqual([]);
  });

  test('of several commits, of changed files or of a part of the experiments have gaps', () => {
    expect(gaps([of('a', '1'), of('b', '2+'), of('c', '1')], ['d', 'e'])).toEqual([
      'not measured: d, e',
      'experiments of several commits: 1 (2), 2+ (1)',
      'measured files differ from the commit: 2+',
    ]);
  });

  test('that were measured beside other work have gaps, which name the experiments', () => {
    const outcomes = [of('a', '1', 0.51), of('b', '1'), of('c', '1', 9)];
    expect(gaps(outcomes, [])).toEqual(['measured beside other work: a, c']);
    expect(documentOf(judged('full', MACHINE, outcomes, ['a', 'b', 'c']))).toContain(
      '- measured beside other work: a, c',
    );
  });

  test('show contenders that failed and experiments that are missing', () => {
    const outcome = of('dense', '1');
    const [, second] = outcome.contenders;
    Object.assign(second ?? {}, { failed: 'a frame is missing' });
    const text = documentOf(judged('full', MACHINE, [outcome], ['dense', 'workerd']));
    expect(text).toContain('## Incomplete');
    expect(text).toContain('- not measured: workerd');
    expect(text).toContain('- dense: TypeScript SDK: a frame is missing');
  });
});

const MACHINE = {
  ...{
    date: '2026-11-21T00:00:00Z',
    cpu: 'cpu',
    cores: 2,
    memoryGb: 8,
    kernel: '6',
    node: 'v24',
    versions: {},
  },
  fsyncMs: 1,
};
