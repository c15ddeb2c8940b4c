import { readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../../scripts/process/command.mjs';
import { launchChromium } from '../console/chromium.ts';
import type { NodeServer } from '../host/node-http.ts';
import { builtWithVite, servedFiles } from './vite.ts';
import { useInstalledWorker } from './worker/installed.ts';

const worker = useInstalledWorker();
const LISTENED = 'stopped after 2 reads of {"toolsListChanged":true}';

describe('the installed client stays subscribed to a Worker', () => {
  test.each([
    ['Node', 'node', []],
    ['Deno', 'deno', ['run', '--allow-all']],
    ['Bun', 'bun', []],
  ])('in %s', async (_, command, args) => {
    const output = await run(command, [...args, 'client.mjs', worker.origin()], {
      cwd: worker.folder(),
    });
    expect(output.trim()).toBe(LISTENED);
  });

  test('in a Worker', async () => {
    expect(await (await fetch(`${worker.origin()}/listened`)).text()).toBe(LISTENED);
  });
});

describe('the installed client stays subscribed to a Worker in Chromium', () => {
  let browser: Browser;
  let files: NodeServer;
  let page: Page;

  beforeAll(async () => {
    browser = await launchChromium();
    files = await servedFiles(worker.folder());
    page = await browser.newPage();
    await page.goto(`${worker.origin()}/page`);
  });

  /**
   * Runs the scenario in the page, with these modules; as text, since the test runner rewrites
   * imports.
   */
  const evaluate = (client: string, scenario: string) =>
    page.evaluate(`Promise.all([import('${client}'), import('${scenario}')])
      .then(([client, { scenario }]) => scenario(client, location.origin))`);

  afterAll(async () => {
    await browser?.close();
    await files?.stop();
  });

  test.each(['browser', 'inline'])('from the plain module %s.js', async (entry) => {
    const client = `${files.origin}/node_modules/mcp-listen/dist/entry/client/${entry}.js`;
    expect(await evaluate(client, `${files.origin}/scenario.mjs`)).toBe(LISTENED);
  });

  test('from a build of Vite', async () => {
    await builtWithVite(worker.folder(), files.origin, ['page.mjs']);
    expect(
      await page.evaluate(
        `import('${files.origin}/bundle/page.js').then(({ listened }) => listened)`,
      ),
    ).toBe(LISTENED);
  });
});

describe('a page that loads the client', () => {
  test('loads nothing of the server', async () => {
    const loaded = await reached('dist/entry/client/browser.js');
    expect(loaded).toContain('pkg/client/mcp_listen_client.js');
    expect(loaded.filter((path) => !CLIENT.test(path))).toEqual([]);
  });
});

/** A file of the package, and all that it imports. */
async function reached(path: string, seen = new Set<string>()): Promise<string[]> {
  if (seen.has(path)) return [];
  seen.add(path);
  const text = await readFile(join(worker.folder(), 'node_modules', 'mcp-listen', path), 'utf8');
  for (const [, name = ''] of text.matchAll(/(?:from|import) '([^']+)'/g))
    await reached(posix.join(path, '..', name), seen);
  return [...seen];
}

/** The files of the client, and those that both sides share. */
const CLIENT = new RegExp(
  `^dist/(${[
    'entry/client',
    'client',
    'wasm/client',
    'wasm/modules/client/\\w+',
    'wasm/instance-guard',
    'timing/(deferred|with-timeout)',
    'model/(error|events|json|subscription-error)',
    'web/header-lines',
  ].join('|')})\\b|^pkg/client/`,
);
