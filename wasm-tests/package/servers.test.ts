import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launchChromium } from '../console/chromium.ts';
import type { NodeServer } from '../host/node-http.ts';
import { type Installed, installed } from './installed.ts';
import { builtWithVite, servedFiles } from './vite.ts';

let project: Installed;
let files: NodeServer;
let browser: Browser;

beforeAll(async () => {
  project = await installed();
  files = await servedFiles(project.folder);
  browser = await launchChromium();
  await builtWithVite(project.folder, files.origin, ['server-page.mjs', 'service-worker.mjs']);
});

afterAll(async () => {
  await browser?.close();
  await files?.stop();
  await project?.remove();
});

test('a page that Vite built serves a listen stream', async () => {
  const frames = await inPage('inPage()');
  expect(frames).toContain('notifications/subscriptions/acknowledged');
  expect(frames).toContain('notifications/tools/list_changed');
  expect(frames).toContain('"resultType":"complete"');
});

test('a service worker that Vite built serves the listens of its pages', async () => {
  const frames = await inPage(`fromServiceWorker('${files.origin}/bundle/service-worker.js')`);
  expect(frames).toContain('notifications/subscriptions/acknowledged');
  expect(frames).toContain('notifications/tools/list_changed');
});

/** The result of a call of the built module; as text, since the test runner rewrites imports. */
async function inPage(call: string): Promise<string> {
  const page = await browser.newPage();
  // A service worker serves the pages beside it.
  await page.goto(`${files.origin}/bundle/index.html`);
  return page.evaluate(
    `import('${files.origin}/bundle/server-page.js').then((built) => built.${call})`,
  );
}
