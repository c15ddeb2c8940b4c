import { expect, test } from 'vitest';
import { run } from '../../scripts/process/command.mjs';

test('the crate holds its sources, its tests, its benchmark and its papers', async () => {
  const files = (await run('cargo', ['package', '--list', '--allow-dirty'])).trim().split('\n');
  const expected =
    /^(src\/.+\.rs|bench\/(names|overhead|scale)\/.+\.rs|wasm-tests\/.+\.rs|wasm-tests\/corpus\/.+\.json|wasm-tests\/fuzz\/crashers\/[^/]+\/[a-z-]+|Cargo\.(toml|toml\.orig|lock)|README\.md|CHANGELOG\.md|LICENSE-(MIT|APACHE)|\.cargo_vcs_info\.json)$/;
  expect(files.filter((file) => !expected.test(file))).toEqual([]);
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

test('the crate builds from what it holds, and cargo has nothing to say against it', async () => {
  const said = await run('sh', ['-c', 'cargo package --allow-dirty 2>&1']);
  expect(said).toContain('Verifying');
  expect(said).not.toContain('warning');
});
