import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import budgets from '../../../.ci/size-budget.json' with { type: 'json' };
import { componentSize, transpiledFile } from '../../../scripts/build/component.mjs';

test('the component stays within its budget', async () => {
  expect(await componentSize(), 'KB: see docs/size.md').toBeLessThanOrEqual(
    budgets.component.gzipKB,
  );
});

test('the component imports nothing', async () => {
  const core = transpiledFile.replace(/js$/, 'core.wasm');
  const imports = WebAssembly.Module.imports(await WebAssembly.compile(await readFile(core)));
  // Only what handles its resources, which the component itself provides.
  expect(imports.filter(({ module }) => !module.startsWith('[export]mcp-listen:core/'))).toEqual(
    [],
  );
});
