import { afterAll, beforeAll } from 'vitest';
import type { Workerd } from '../../scripts/workerd/workerd.mjs';
import { consoleOf, startNotebook } from '../host/servers/notebook.ts';
import { useBrowser } from './browser.ts';
import type { ConsolePage } from './console-page.ts';

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

/**
 * Serves the notebook; returns a function that opens its console, and resolves once the console is
 * connected.
 */
export function useConnectedConsole(): () => Promise<ConsolePage> {
  const open = useBrowser();
  const notebook = useNotebook();
  return async () => {
    const page = await open(notebook());
    await page.connected();
    return page;
  };
}
