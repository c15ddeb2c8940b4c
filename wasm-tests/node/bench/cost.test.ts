import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { NO_COUNTS } from '../../../bench/cost/counts.ts';
import { type CostResults, documentOf } from '../../../bench/cost/document.ts';
import { billOf, EXAMPLE, monthOf } from '../../../bench/cost/month.ts';
import { heldRange, mostAfter, serverlessTables } from '../../../bench/cost/serverless.ts';
import { withBlock } from '../../../bench/harness/record/page.ts';
import { root } from '../../../scripts/process/project.mjs';

test('docs/cost.md contains the counted results', async () => {
  const results = JSON.parse(
    await readFile(join(root, 'bench', 'cost', 'results.json'), 'utf8'),
  ) as CostResults;
  const page = await pageOf('cost');
  expect(withBlock(page, documentOf(results))).toBe(page);
});

test('the book contains what a gateway in front of a function saves', async () => {
  const page = await pageOf('cost');
  for (const [name, text] of Object.entries(serverlessTables()))
    expect(withBlock(page, text, name)).toBe(page);
  const [least, most] = heldRange().map((dollars) => Math.floor(dollars).toLocaleString('en'));
  const recipe = (await pageOf('serverless')).replaceAll('\n', ' ');
  expect(recipe).toContain(`between $${least} and $${most} a month`);
  expect(recipe).toContain('less than two cents');
  expect(mostAfter()).toBeLessThan(0.02);
});

function pageOf(name: string): Promise<string> {
  return readFile(join(root, 'docs', `${name}.md`), 'utf8');
}

test('a month counts every stream opened, every change, and every wake of an object', () => {
  const counted = {
    sockets: 'auto' as const,
    open: NO_COUNTS,
    turnover: { ...NO_COUNTS, upgrades: 1, messages: 2, rowsWritten: 3, runMs: 10 },
    ownChange: { ...NO_COUNTS, calls: 1, rowsWritten: 1, runMs: 4 },
    change: { ...NO_COUNTS, calls: 2, rowsWritten: 1, runMs: 5, timerMs: 50, waits: 3 },
    waking: { ...NO_COUNTS, calls: 1, rowsWritten: 1, rowsRead: 7, runMs: 24 },
  };
  const month = { ...EXAMPLE, streams: 1_000, ageMinutes: 24 * 60, changes: 100_000, quiet: 0.5 };
  const counts = monthOf(counted, month);
  const opens = 30_000;
  // Not all of them: some come within ten seconds of another one.
  const wakes = opens * 0.5 * Math.exp((-10 * opens) / (30 * 24 * 3_600));
  expect(counts).toMatchObject({
    upgrades: opens,
    calls: 200_000,
    messages: 2 * opens,
    waits: 300_000,
    timerMs: 5_000_000,
  });
  expect(counts.rowsWritten).toBe(3 * opens + 100_000);
  expect(counts.rowsRead).toBeCloseTo(10 * 7 * wakes);
  // Ten times the streams: ten times what a change costs beside one that reaches a single stream.
  expect(counts.runMs).toBeCloseTo(10 * opens + 100_000 * (4 + 10 * 1) + wakes * 10 * 20);
});

test('a bill charges what exceeds the plan', () => {
  const counts = {
    ...NO_COUNTS,
    ...{ calls: 2e6, messages: 20e6, rowsWritten: 51e6 },
    ...{ runMs: 3e9, timerMs: 1e9, waits: 1e8 },
  };
  const bill = billOf(counts, EXAMPLE);
  // 3 M requests, 51 M rows, 640,000 GB-s and 300,000 listens.
  expect(bill).toEqual({
    listens: 0,
    requests: expect.closeTo(0.3),
    duration: 3,
    rows: 1,
    together: expect.closeTo(4.3),
  });
  // Waits of 50 ms instead of 10: 512,000 GB-s more.
  expect(billOf(counts, EXAMPLE, 50)).toEqual({
    ...bill,
    duration: expect.closeTo(9.4),
    together: expect.closeTo(10.7),
  });
});
