import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bundleSize } from '../../bench/size/bundle.ts';
import { consoleSize } from '../../bench/size/console.ts';
import { instantiation } from '../../bench/size/instantiation.ts';
import { gzippedSize, type ModuleName, modulePath } from '../../bench/size/module.ts';
import { root } from '../../scripts/process/project.mjs';

/**
 * The most kilobytes of gzip that a module may have, the most milliseconds to instantiate it, and
 * the most exports. The benchmarks have goals for bundles.
 */
interface Budget {
  gzipKB: number;
  instantiateMs?: number;
  exports?: number;
}

const budgets = JSON.parse(await readFile(join(root, '.ci', 'size-budget.json'), 'utf8')) as Record<
  ModuleName | 'store' | 'inspect' | 'operate',
  Budget
>;

test.each(['server', 'client', 'events'] as const)(
  'the module for %s stays within its budget',
  async (name) => {
    const { gzip } = await gzippedSize(name);
    expect(gzip, 'KB: see docs/size.md for what weighs most').toBeLessThanOrEqual(
      budgets[name].gzipKB,
    );
  },
);

test.each(['server', 'client', 'events'] as const)(
  'the module for %s exports only what its bindings use, within its budget',
  async (name) => {
    const path = modulePath(name);
    const script = await readFile(path.replace(/_bg\.wasm$/, '.js'), 'utf8');
    const exports = WebAssembly.Module.exports(await WebAssembly.compile(await readFile(path)));
    expect(exports.filter((of) => !script.includes(`wasm.${of.name}`))).toEqual([]);
    const { exports: most = Number.POSITIVE_INFINITY } = budgets[name];
    expect(exports.length, 'see docs/size.md').toBeLessThanOrEqual(most);
  },
);

test('the store adds no more than its budget to a page', async () => {
  const [page, shared] = await Promise.all([bundleSize('page'), bundleSize('shared-page')]);
  expect(shared.script - page.script).toBeLessThanOrEqual(budgets.store.gzipKB);
});

test('what each tab of the console loads stays within its budget', async () => {
  const { all, inspect } = await consoleSize();
  expect(inspect, 'KB: see docs/size.md for the parts').toBeLessThanOrEqual(budgets.inspect.gzipKB);
  const operate = all - inspect;
  expect(operate).toBeGreaterThan(0);
  expect(operate, 'KB: its script and uPlot').toBeLessThanOrEqual(budgets.operate.gzipKB);
});

test('a compiled module of a server is instantiated within its budget', async () => {
  const times: number[] = [];
  for (let round = 0; round < 5; round += 1)
    times.push((await instantiation())['instantiate'] ?? Number.NaN);
  // The minimum: other work of the machine only adds to it.
  expect(Math.min(...times)).toBeLessThanOrEqual(budgets.server.instantiateMs ?? 0);
});
