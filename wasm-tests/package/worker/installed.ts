import { afterAll, beforeAll } from 'vitest';
import type { Workerd } from '../../../scripts/workerd/workerd.mjs';
import { type Installed, installed } from '../installed.ts';
import { bundledWorker, startWithBus } from './start.ts';

/** Installs the package and serves the Worker of its project, for a file of tests. */
export function useInstalledWorker() {
  let project: Installed;
  let workerd: Workerd;

  beforeAll(async () => {
    project = await installed();
    workerd = await startWithBus(await bundledWorker(project.folder));
  });

  afterAll(async () => {
    await workerd?.stop();
    await project?.remove();
  });

  return { folder: () => project.folder, origin: () => workerd.edges[0] ?? '' };
}
