import { afterAll, beforeAll } from 'vitest';
import type { Workerd } from '../../scripts/workerd/workerd.mjs';
import { consoleOf, startNotebook } from '../host/servers/notebook.ts';

/**
 * Serves the notebook as `npm start` does, for a file of tests; returns a function that returns the
 * URL of its console.
 */
export function useNotebook(): () => string {
  let workerd: Workerd;
  beforeAll(async () => {
    workerd = await startNotebook(0);
  });
  afterAll(() => workerd?.stop());
  return () => consoleOf(workerd.url ?? '');
}
