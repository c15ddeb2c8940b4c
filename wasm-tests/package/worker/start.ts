import { join } from 'node:path';
import { run } from '../../../scripts/process/command.mjs';
import {
  startWorkerd,
  type Workerd,
  type WorkerdOptions,
} from '../../../scripts/workerd/workerd.mjs';

/** Bundles the Worker of a folder with wrangler; returns the folder of the bundle. */
export async function bundledWorker(
  folder: string,
  name = 'worker',
  ...args: string[]
): Promise<string> {
  const bundle = join(folder, name);
  await run('wrangler', ['deploy', '--dry-run', '--outdir', bundle, ...args], { cwd: folder });
  return bundle;
}

/** Starts a bundle on workerd, with its bus object bound as in the quick start. */
export function startWithBus(
  bundle: string,
  options: Partial<WorkerdOptions> = {},
): Promise<Workerd> {
  const durableObjects = [{ binding: 'MCP_BUS', className: 'SubscriptionBus' }];
  return startWorkerd({ bundle, durableObjects, ...options });
}
