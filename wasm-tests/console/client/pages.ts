import { join } from 'node:path';
import { build } from 'esbuild';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { root } from '../../../scripts/process/project.mjs';
import { programs } from '../../host/snippets.ts';

/** Opens one more page that runs the script, in the same context: the browser's tabs. */
export type OpenTab = () => Promise<Page>;

/**
 * Opens pages of the origin of a server that run `script`, a module with the browser client; they
 * end with the test.
 */
export async function clientPages(
  browser: Browser,
  origin: string,
  script: string,
): Promise<OpenTab> {
  const context = await flawless(browser);
  await servePages(context, origin, script);
  return async () => {
    const page = await context.newPage();
    await page.goto(`${origin}/pages/`);
    return page;
  };
}

/**
 * Opens the page of docs/clients.md, with this package beside it, and with a server at another port
 * than that of `npm start`; returns a function that returns its log.
 */
export async function documentedPage(browser: Browser, origin: string): Promise<() => string[]> {
  const context = await flawless(browser);
  const [documented = ''] = await programs('html');
  expect(documented).toContain(STARTED);
  const body = documented.replace(STARTED, origin);
  await context.route(`${origin}/guide/`, (route) =>
    route.fulfill({ contentType: 'text/html', body }),
  );
  const installed = `${origin}/guide/node_modules/mcp-listen/`;
  await context.route(`${installed}**`, (route) =>
    route.fulfill({ path: join(root, route.request().url().slice(installed.length)) }),
  );
  const page = await context.newPage();
  const lines: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'log') lines.push(message.text());
  });
  await page.goto(`${origin}/guide/`);
  return () => lines;
}

/** The server of `npm start`. */
const STARTED = 'http://localhost:8787';

/** A context that ends with the test, and fails it where a page throws. */
async function flawless(browser: Browser): Promise<BrowserContext> {
  const context = await browser.newContext();
  const errors: unknown[] = [];
  context.on('weberror', (error) => errors.push(error.error()));
  onTestFinished(async () => {
    await context.close();
    expect(errors).toEqual([]);
  });
  return context;
}

/** Serves the page, its script and the core at `origin`; all else comes from the server. */
export async function servePages(
  context: BrowserContext,
  origin: string,
  script: string,
): Promise<void> {
  const body = await bundleWorker(script);
  await context.route(`${origin}/pages/`, (route) =>
    route.fulfill({ contentType: 'text/html', body: PAGE }),
  );
  await context.route(`${origin}/pages/script.js`, (route) =>
    route.fulfill({ contentType: 'text/javascript', body }),
  );
  // The client loads its core from this path, two folders above itself.
  const core = 'pkg/client/mcp_listen_client_bg.wasm';
  await context.route(`${origin}/${core}`, (route) => route.fulfill({ path: join(root, core) }));
}

async function bundleWorker(script: string): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [script],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2023',
    conditions: ['browser'],
    define: { 'process.env.NODE_ENV': '"development"' },
    logLevel: 'error',
  });
  return outputFiles[0]?.text ?? '';
}

const PAGE = `<!doctype html><link rel="icon" href="data:,"><body>
<script type="module" src="script.js"></script>`;
