import { onTestFinished } from 'vitest';
import { workerBundle } from '../../../scripts/build/build.mjs';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { SECRET } from '../signing.ts';

/** Starts the deployed Worker with these variables only, and stops it after the test. */
export async function startDeployed(
  text: Record<string, string> = {},
  stateDir?: string,
): Promise<Workerd> {
  const workerd = await startWorkerd({
    bundle: workerBundle,
    edges: 1,
    text,
    ...(stateDir && { stateDir }),
  });
  onTestFinished(() => workerd.stop());
  return workerd;
}

/** The variables with which `npm start` enables everything. */
export const EVERYTHING_ON = {
  CONSOLE: 'on',
  NOTEBOOK_WRITE: 'on',
  PUBLISH_TOKEN: SECRET,
  STATS_OPEN: 'on',
};
