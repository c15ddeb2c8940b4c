import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Outcome } from '../../../bench/harness/outcome.ts';
import { judged, load, loadFrom, save } from '../../../bench/harness/record/results.ts';
import { report } from '../../../bench/report/report.ts';
import { dense } from './outcomes.ts';

describe('the written results', () => {
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
    await save(folder, judged('quick', MACHINE, [dense(9, 1.3), curve]));
    await report(folder);
    const text = await readFile(join(folder, 'RESULTS.md'), 'utf8');
    expect(text).toContain('| S1 | dense fan-out, of the SDK | at least 9 x | 9 | 9 | 9 | holds |');
    expect(text).toContain(
      '| mcp-listen | 0 (0 - 0) | 15 (10 - 20) | 1,500 (1,000 - 2,000) | 1.00 |',
    );
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
    const results = judged('full', MACHINE, [dense(9, 1.3)]);
    await save(folder, results);
    const file = join(folder, 'results.json');
    const written = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
    expect(written['S1']).toMatchObject({ holds: true, value: 9, unit: 'x', goal: 9 });
    expect(await load(file)).toEqual(results);
    expect(await loadFrom(folder)).toEqual(results);
    expect(await loadFrom(join(folder, 'nowhere'))).toBeUndefined();
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
