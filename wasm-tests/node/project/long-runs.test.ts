import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { rowOf, withRow } from '../../../scripts/checks/record/long-runs.mjs';
import { treeObstacles, treeState } from '../../../scripts/checks/record/tree.mjs';
import {
  type FaultRun,
  obstacles,
  type ScenarioResult,
  webhookText,
} from '../../../scripts/checks/table.mjs';
import { run } from '../../../scripts/process/command.mjs';

const page = new URL('../../../docs/verification.md', import.meta.url);

test('a long run writes its row into docs/verification.md, and replaces it the next time', async () => {
  const before = await readFile(page, 'utf8');
  const first = withRow(before, '| `npm run check:test` | 1 kept | today | a | 2 cores |');
  const second = withRow(first, '| `npm run check:test` | 2 kept | today | b | 2 cores |');
  const added = second.split('\n').filter((line) => !before.split('\n').includes(line));
  expect(added).toEqual(['| `npm run check:test` | 2 kept | today | b | 2 cores |']);
  expect(second.split('\n')).toHaveLength(before.split('\n').length + 1);
});

test('a long run is recorded only for one commit, without changes', () => {
  const tree = { commit: 'a', isDirty: false };
  expect(treeObstacles(tree, tree)).toEqual([]);
  expect(treeObstacles({ ...tree, isDirty: true }, tree)).toHaveLength(1);
  expect(treeObstacles(tree, { ...tree, commit: 'b' })).toHaveLength(1);
});

test('a run of the faults is recorded only if every scenario and the webhooks have a result', () => {
  const tree = { commit: 'a', isDirty: false };
  const result = (name: string) => ({ name, machineMs: 0 }) as ScenarioResult;
  const webhooks = { events: 10_001, resets: 12, busResets: 9, kills: 1 };
  const run: FaultRun = {
    scenarios: ['one', 'two'],
    results: ['one', 'two'].map(result),
    webhooks,
  };
  expect(obstacles(run, tree, tree)).toEqual([]);
  expect(obstacles({ ...run, results: [result('one')] }, tree, tree)).toEqual([
    'scenarios without a result: two',
  ]);
  expect(obstacles({ ...run, scenarios: [], results: [] }, tree, tree)).toEqual([
    'no scenario has a result',
  ]);
  expect(obstacles({ ...run, webhooks: undefined }, tree, tree)).toEqual([
    'the events of webhooks have no result',
  ]);
});

test('the events of webhooks of a run of the faults have one row', async () => {
  const before = await readFile(page, 'utf8');
  const row = (events: number) => {
    const text = webhookText({ events, resets: 12, busResets: 9, kills: 1 });
    return rowOf('`npm run check:faults`, webhooks', text, { commit: 'a', load: 0.5 });
  };
  const after = withRow(withRow(before, row(10_001)), row(10_002));
  expect(after).not.toContain('all 10001 events, over 12 resets');
  expect(after).toContain('all 10002 events, over 12 resets');
});

test('files that checks write do not count as changes of the tree, and all others do', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'mcp-listen-tree-'));
  onTestFinished(() => rm(cwd, { recursive: true }));
  const git = (...args: string[]) => run('git', args, { cwd });
  await git('init', '--quiet');
  const name = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
  await git(...name, 'commit', '--quiet', '--allow-empty', '-m', 'first');
  for (const folder of ['docs', 'bench/cost', 'src'])
    await mkdir(join(cwd, folder), { recursive: true });
  for (const file of ['docs/verification.md', 'bench/results.json', 'bench/cost/results.json'])
    await writeFile(join(cwd, file), 'result');
  expect(await treeState(cwd)).toMatchObject({ isDirty: false });
  await writeFile(join(cwd, 'src', 'lib.rs'), 'code');
  expect(await treeState(cwd)).toMatchObject({ isDirty: true });
});

test('a check whose result cannot be written fails', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'mcp-listen-check-'));
  onTestFinished(() => rm(cwd, { recursive: true }));
  const script = join(cwd, 'check.mjs');
  const checks = new URL('../../../scripts/checks/record/long-runs.mjs', import.meta.url);
  await writeFile(
    script,
    `import { recordRun } from '${checks}';\n` +
      "await recordRun('check:test', async () => 'passed', () => ['the tree has changes']);\n",
  );
  await expect(run('node', [script])).rejects.toThrow(/was not written: the tree has changes/);
});
