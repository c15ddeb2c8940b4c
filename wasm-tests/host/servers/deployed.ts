import { onTestFinished } from 'vitest';
import { workerBundle } from '../../../scripts/build/build.mjs';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';

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

/** Starts the deployed Worker; resolves with the message of its error, '' if it starts. */
export async function startError(text: Record<string, string>): Promise<string> {
  return startWorkerd({ bundle: workerBundle, edges: 1, text }).then(
    async (workerd) => {
      await workerd.stop();
      return '';
    },
    (error: Error) => error.message,
  );
}
