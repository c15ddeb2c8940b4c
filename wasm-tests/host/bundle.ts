import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../../scripts/process/command.mjs';
import { root } from '../../scripts/process/project.mjs';

/**
 * Bundles the Worker of `folder` (relative to the project) as it would be deployed.
 *
 * @param owner - keeps the bundles of test files that run at the same time apart; lanes are apart
 * in any case.
 * @returns the folder of the bundle.
 */
export async function bundleWorker(
  folder: string,
  owner = process.env['VITEST_POOL_ID'] ?? '0',
): Promise<string> {
  const { LANE = 'no-lane' } = process.env;
  const out = join(root, '.build', 'bundles', `${folder.replaceAll('/', '-')}-${LANE}-${owner}`);
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
