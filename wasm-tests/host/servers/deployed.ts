import { onTestFinished } from 'vitest';
import { workerBundle } from '../../../scripts/build/build.mjs';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { SECRET } from '../signing.ts';

/**
 * Starts the Worker that is deployed, with these variables and no others, for the test that runs.
 */
export async function shipped(
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

/** The variables of `npm start` that switch everything on. */
export const EVERYTHING_ON = {
  CONSOLE: 'on',
  NOTEBOOK_WRITE: 'on',
  PUBLISH_TOKEN: SECRET,
  STATS_OPEN: 'on',
};
