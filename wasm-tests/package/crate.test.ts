import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run } from '../../scripts/process/command.mjs';
import { root } from '../../scripts/process/project.mjs';

test('the crate contains its sources, tests, benchmarks and documents', async () => {
  const files = (await run('cargo', ['package', '--list', '--allow-dirty'])).trim().split('\n');
  expect(files.filter((file) => !CONTENTS.test(file))).toEqual([]);
  expect(files).toEqual(
    expect.arrayContaining([
      'src/lib.rs',
      'README.md',
      'CHANGELOG.md',
      'LICENSE-MIT',
      'LICENSE-APACHE',
    ]),
  );
});

test('the crate builds from its contents without a warning', async () => {
  const output = await run('sh', ['-c', 'cargo package --allow-dirty 2>&1']);
  expect(output).toContain('Verifying');
  expect(output).not.toContain('warning');
  // Cargo compiles the crate, and may wait for a lane that compiles into the same folder.
}, 600_000);

test.each(['browser', 'tower', 'rmcp', 'python'])('%s has the licenses', async (folder) => {
  for (const name of ['LICENSE-MIT', 'LICENSE-APACHE'])
    expect(await readFile(join(root, folder, name), 'utf8'), name).toBe(
      await readFile(join(root, name), 'utf8'),
    );
});

const CONTENTS = new RegExp(
  `^(${[
    'src/.+\\.rs',
    'bench/core/(names|overhead|scale|targeted)/.+\\.rs',
    'wasm-tests/.+\\.rs',
    'wasm-tests/corpus/.+\\.json',
    'wasm-tests/fuzz/crashers/[^/]+/[a-z-]+',
    'Cargo\\.(toml|toml\\.orig|lock)',
    'README\\.md',
    'CHANGELOG\\.md',
    'LICENSE-(MIT|APACHE)',
    '\\.cargo_vcs_info\\.json',
  ].join('|')})$`,
);
