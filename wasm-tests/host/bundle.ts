import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../../scripts/command.mjs';
import { root } from '../../scripts/project.mjs';

/** Bundles the Worker of `folder` (relative to the project) as it would be deployed; answers where it lies. */
export async function bundled(folder: string): Promise<string> {
  const out = join(root, '.build', folder.replaceAll('/', '-'));
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  await run('wrangler', ['deploy', '--dry-run', '--outdir', out, '--config', join(root, folder, 'wrangler.toml')]);
  return out;
}
