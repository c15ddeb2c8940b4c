import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../../scripts/process/command.mjs';
import { root } from '../../scripts/process/project.mjs';

/**
 * Bundles the Worker of `folder` (relative to the project) as it would be deployed; answers where
 * it lies. Lanes and test files that run at the same time have each their own.
 */
export async function bundled(
  folder: string,
  whose = process.env['VITEST_POOL_ID'] ?? '0',
): Promise<string> {
  const { LANE = 'no-lane' } = process.env;
  const out = join(root, '.build', 'bundles', `${folder.replaceAll('/', '-')}-${LANE}-${whose}`);
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  await run('wrangler', [
    'deploy',
    '--dry-run',
    '--outdir',
    out,
    '--config',
    join(root, folder, 'wrangler.toml'),
  ]);
  return out;
}
