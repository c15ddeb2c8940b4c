import { spawn } from 'node:child_process';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';
import { environment } from '../process/command.mjs';
import { main, onStop } from '../process/main.mjs';
import { root } from '../process/project.mjs';

/** @typedef {import('playwright-core').Page} Page */

const images = join(root, 'docs', 'images');

/** The pictures of the console: a tab in a color scheme. */
const pictures = /** @type {const} */ ([
  ['console.png', 'Inspect', 'light'],
  ['operate.png', 'Operate', 'light'],
  ['console-dark.png', 'Inspect', 'dark'],
]);

/** What a client of streams accepts. */
const STREAM = 'application/json, text/event-stream';

/** Maximum bytes of a picture. */
const MAX_BYTES = 200_000;

/** Takes the pictures of the console that README.md and docs/console.md show. */
async function screenshots() {
  const server = await startServer();
  const browser = await chromium.launch(await launchOptions());
  try {
    await mkdir(images, { recursive: true });
    const page = await browser.newPage({
      viewport: { width: 1280, height: 860 },
      reducedMotion: 'reduce',
    });
    page.setDefaultTimeout(15_000);
    await page.goto(server.url);
    await fill(page);
    for (const [file, tab, colorScheme] of pictures) {
      await page.getByRole('tab', { name: tab, exact: true }).click();
      if (tab === 'Operate') await fillCharts(page, server.url);
      await take(page, join(images, file), { colorScheme, fullPage: tab === 'Operate' });
    }
  } finally {
    await browser.close();
    await server.stop();
  }
}

/**
 * Starts the same server as `npm start`, on a free port.
 * @returns {Promise<{ url: string, stop: () => Promise<unknown> }>} the address of the console
 */
async function startServer() {
  const args = [join(root, 'scripts', 'start', 'start.mjs')];
  const env = { ...environment, PORT: '0' };
  const child = spawn(process.execPath, args, {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const stop = () => {
    child.kill();
    return exited;
  };
  onStop(stop);
  for await (const line of createInterface(child.stdout)) {
    const [, url] = line.match(/^Console\s+(http\S+)$/) ?? [];
    if (url !== undefined) return { url, stop };
  }
  throw new Error('the server ended before it printed the address of its console');
}

/** Returns the Chromium and the flags of the tests. */
async function launchOptions() {
  const capabilities = JSON.parse(
    await readFile(join(root, 'wasm-tests', 'webdriver.json'), 'utf8'),
  );
  const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
  return { executablePath, args: capabilities['goog:chromeOptions'].args };
}

/**
 * Connects, opens a subscription of each kind, and makes changes for them.
 * @param {Page} page
 */
async function fill(page) {
  await page.locator('#connection-state').getByText('connected', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Open a subscription', exact: true }).click();
  await live(page, 'A');
  await press(page, 'Event', 'Subscribe');
  await live(page, 'B');
  await page.getByRole('button', { name: 'Read note://todo' }).click();
  await page.getByRole('region', { name: 'Now', exact: true }).waitFor();
  await press(page, 'Tool', 'Call', async (form) => {
    await form.getByRole('combobox', { name: 'Tool', exact: true }).selectOption('edit_note');
    await form.getByLabel('text', { exact: true }).fill('buy oat milk\nbuy bread');
  });
  await press(page, 'Publish', 'Publish', async (form) => {
    await form.getByLabel('URI', { exact: true }).fill('note://todo');
    await form.getByLabel('Count').fill('6');
    await form.getByLabel('Rate').selectOption('one after the other');
  });
  await page.getByRole('tab', { name: 'Resource', exact: true }).click();
  await page.getByRole('region', { name: 'Last state' }).waitFor();
}

/**
 * Waits until a subscription is live.
 * @param {Page} page
 * @param {string} name
 */
async function live(page, name) {
  const card = page.getByRole('article', { name: `Subscription ${name}` });
  await card.getByText('live', { exact: true }).waitFor();
}

/**
 * Fills in the form of a tab, presses its button, and waits until the button is no longer busy.
 * @param {Page} page
 * @param {string} tab
 * @param {string} name of the button
 * @param {(form: import('playwright-core').Locator) => Promise<void>} [fillIn]
 */
async function press(page, tab, name, fillIn) {
  await page.getByRole('tab', { name: tab, exact: true }).click();
  const form = page.getByRole('tabpanel', { name: tab, exact: true });
  await fillIn?.(form);
  await form.getByRole('button', { name, exact: true }).click();
  await form.getByRole('button', { name, exact: true, disabled: false }).waitFor();
}

/**
 * Lets every chart of Operate show something: publishes events, opens and closes streams, and sends
 * requests that are refused.
 * @param {Page} page
 * @param {string} url of the console, with the token of operators
 */
async function fillCharts(page, url) {
  await page.getByText('watching', { exact: true }).waitFor();
  const { hash, origin } = new URL(url);
  const authorization = `Bearer ${new URLSearchParams(hash.slice(1)).get('token')}`;
  const events = [{ kind: 'resource_updated', uri: 'note://todo' }];
  const body = JSON.stringify({ do: 'publish', events });
  const headers = { authorization, 'content-type': 'application/json' };
  /** @type {Response[]} */
  const streams = [];
  for (let round = 0; round < 60; round += 1) {
    await fetch(`${origin}/operate`, { method: 'POST', headers, body });
    if (round % 10 === 5) await publishHere(page);
    if (round % 15 === 0) streams.push(await listen(origin, STREAM));
    if (round % 20 === 19) await streams.shift()?.body?.cancel();
    if (round % 25 === 24) await listen(origin, 'text/html');
    await page.waitForTimeout(100 + 150 * Math.sin(round / 8) ** 2);
  }
}

/**
 * Publishes with the form of Operate, so that the page measures the arrival.
 * @param {Page} page
 */
async function publishHere(page) {
  const actions = page.getByRole('region', { name: 'Actions' });
  await actions.getByLabel('URI, task or name').fill('note://todo');
  await actions.getByRole('button', { name: 'Publish', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Publish an event?' });
  await dialog.getByRole('button', { name: 'Publish', exact: true }).click();
  await actions.getByText(/^Published at position/).waitFor();
}

/**
 * Opens a stream beside those of the page, or is refused.
 * @param {string} origin
 * @param {string} accept the media types
 */
function listen(origin, accept) {
  const headers = {
    accept,
    'content-type': 'application/json',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'subscriptions/listen',
  };
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { _meta: meta, notifications: { resourceSubscriptions: ['note://todo'] } };
  const request = { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params };
  return fetch(`${origin}/mcp`, { method: 'POST', headers, body: JSON.stringify(request) });
}

/**
 * @param {Page} page
 * @param {string} path
 * @param {{ colorScheme: 'light' | 'dark', fullPage: boolean }} options
 */
async function take(page, path, { colorScheme, fullPage }) {
  await page.emulateMedia({ colorScheme });
  await page.screenshot({ path, animations: 'disabled', fullPage });
  const { size } = await stat(path);
  process.stdout.write(`${relative(root, path)}: ${size} bytes\n`);
  if (size > MAX_BYTES)
    throw new Error(`${path} has ${size} bytes, which is more than ${MAX_BYTES}`);
}

await main(import.meta.url, screenshots);
