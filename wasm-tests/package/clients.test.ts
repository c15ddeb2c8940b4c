import { readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../../scripts/process/command.mjs';
import { startWorkerd, type Workerd } from '../../scripts/workerd/workerd.mjs';
import type { NodeServer } from '../host/node-http.ts';
import { builtWithVite, launched, servedFiles } from './chromium.ts';
import { type Installed, installed } from './installed.ts';

let project: Installed;
let workerd: Workerd;
let origin: string;

beforeAll(async () => {
  project = await installed();
  await run('wrangler', ['deploy', '--dry-run', '--outdir', 'worker'], { cwd: project.folder });
  const durableObjects = [{ binding: 'MCP_BUS', className: 'SubscriptionBus' }];
  workerd = await startWorkerd({ bundle: join(project.folder, 'worker'), durableObjects });
  origin = workerd.edges[0] ?? '';
});

afterAll(async () => {
  await workerd?.stop();
  await project?.remove();
});

const LISTENED = 'stopped after 2 reads of {"toolsListChanged":true}';

describe('the installed client stays subscribed to a Worker', () => {
  test.each([
    ['Node', 'node', []],
    ['Deno', 'deno', ['run', '--allow-all']],
    ['Bun', 'bun', []],
  ])('in %s', async (_, command, args) => {
    const output = await run(command, [...args, 'client.mjs', origin], { cwd: project.folder });
    expect(output.trim()).toBe(LISTENED);
  });

  test('in a Worker', async () => {
    expect(await (await fetch(`${origin}/listened`)).text()).toBe(LISTENED);
  });
});

describe('the installed client stays subscribed to a Worker in Chromium', () => {
  let browser: Browser;
  let files: NodeServer;
  let page: Page;

  beforeAll(async () => {
    browser = await launched();
    files = await servedFiles(project.folder);
    page = await browser.newPage();
    await page.goto(`${origin}/page`);
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
    await builtWithVite(project.folder, files.origin, ['page.mjs']);
    expect(
      await page.evaluate(
        `import('${files.origin}/bundle/page.js').then(({ listened }) => listened)`,
      ),
    ).toBe(LISTENED);
  });
});

describe('what a page loads', () => {
  test('has none of the server', async () => {
    const loaded = await reached('dist/entry/client/browser.js');
    expect(loaded).toContain('pkg/client/mcp_listen_client.js');
    expect(loaded.filter((path) => !CLIENT.test(path))).toEqual([]);
  });
});

/** A file of the package, and all that it imports. */
async function reached(path: string, seen = new Set<string>()): Promise<string[]> {
  if (seen.has(path)) return [];
  seen.add(path);
  const text = await readFile(join(project.folder, 'node_modules', 'mcp-listen', path), 'utf8');
  for (const [, name = ''] of text.matchAll(/(?:from|import) '([^']+)'/g))
    await reached(posix.join(path, '..', name), seen);
  return [...seen];
}

/** What belongs to a client, and what both sides are made of. */
const CLIENT =
  /^dist\/(entry\/client|client|wasm\/client|wasm\/modules\/client-\w+|wasm\/instance-guard|timing\/deferred|model\/(error|events|subscription-error))\b|^pkg\/client\//;
