import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { useBrowser } from './browser.ts';
import { useNotebook } from './notebook.ts';
import { observeShifts, shiftsOf } from './shifts.ts';
import { openTimeline, rowsOf, shownIn } from './timeline/page.ts';

const open = useBrowser();
const notebook = useNotebook();

test('Inspect loads at most 150 KB with gzip, and Operate is loaded when it is shown', async () => {
  const console = await open('about:blank');
  const sizes = sizesOf(console.page);
  await console.page.goto(notebook());
  await console.connected();
  await console.subscribe('A');
  const loaded = [...sizes.keys()];
  expect(loaded.filter((path) => path.endsWith('.wasm'))).toHaveLength(1);
  expect(loaded.filter((path) => path.includes('operate'))).toEqual([]);
  expect(await sumOf(sizes)).toBeLessThan(150_000);
  await console.operate();
  expect([...sizes.keys()].filter((path) => path.includes('operate'))).toHaveLength(1);
  // A body cannot be read after the page is closed.
  await Promise.all(sizes.values());
});

test('a visit of #operate loads at most 80 KB, moves nothing, and connects when Inspect is shown', async () => {
  const console = await open('about:blank');
  const { page } = console;
  const sizes = sizesOf(page);
  const paths: string[] = [];
  page.on('request', (request) => paths.push(new URL(request.url()).pathname));
  await page.addInitScript(observeShifts);
  await page.goto(`${notebook()}&operate`);
  await page.getByText('watching', { exact: true }).waitFor();
  await expect.poll(() => console.reading('isolates').textContent()).toMatch(/\d/);
  expect(await shiftsOf(page)).toEqual([]);
  expect(await page.evaluate(() => scrollY)).toBe(0);
  expect(paths.filter((path) => /sdk|\.wasm|\/mcp$/.test(path))).toEqual([]);
  expect(await sumOf(sizes)).toBeLessThan(80_000);
  expect(new URL(page.url()).hash).toBe('#operate');
  await page.getByRole('tab', { name: 'Inspect' }).click();
  await console.connected();
  expect(new URL(page.url()).hash).toBe('');
  await Promise.all(sizes.values());
});

test.for([390, 1280, 2560])(
  'at %i pixels nothing shifts after the page has painted',
  async (width) => {
    const console = await open('about:blank', { viewport: { width, height: 800 } });
    await console.page.addInitScript(observeShifts);
    await console.page.goto(notebook());
    await console.connected();
    expect(await shiftsOf(console.page)).toEqual([]);
  },
);

test('the page paints before any script or wasm of it is there', async () => {
  const console = await open('about:blank');
  const { page } = console;
  const held: string[] = [];
  const { promise: isPainted, resolve: release } = Promise.withResolvers<void>();
  await page.route(/\.(js|wasm)$/, async (route) => {
    held.push(route.request().url());
    await isPainted;
    await route.continue();
  });
  await page.goto(notebook(), { waitUntil: 'commit' });
  await expect.poll(() => page.evaluate(hasPainted)).toBe(true);
  await expect.poll(() => held).toContainEqual(expect.stringMatching(/console-[^/]+\.js$/));
  expect(await console.connection.textContent()).toBe('not connected');
  release();
  await console.connected();
});

test('the commands for a terminal are shown if the script of the page does not load', async () => {
  const { errors, page } = await open('about:blank');
  await page.route('**/console-*.js', (route) => route.abort());
  await page.goto(notebook());
  await page.getByText('Use a terminal instead').waitFor();
  expect(errors.splice(0)).toEqual([expect.stringContaining('ERR_FAILED')]);
});

test('of 50,000 messages the page contains only the rows in view', async () => {
  const { page } = await open('about:blank');
  await openTimeline(page, notebook());
  const rows = rowsOf(page);
  const first = () => rows.first().locator('.about').textContent();
  await page.evaluate(() => window.timeline.fill(50_000));
  await expect.poll(() => shownIn(page)).toBe(50_000);
  expect(await rows.count()).toBeLessThan(60);
  await page.locator('#messages-box').evaluate((box) => box.scrollTo(0, box.scrollHeight / 2));
  await expect.poll(() => rows.first().getAttribute('aria-posinset')).toMatch(/^2\d{4}$/);
  expect(await rows.count()).toBeLessThan(60);
  await page.locator('#messages-box').evaluate((box) => box.scrollTo(0, 0));
  await page.evaluate(() => window.timeline.fill(1_500));
  await expect.poll(first).toBe(' note://51499');
  // The oldest are dropped, a thousand at once.
  expect(await shownIn(page)).toBe(50_500);
  expect(await rows.count()).toBeLessThan(60);
  await page.getByLabel('Text in the message').fill('note://4999');
  expect(await shownIn(page)).toBe(11);
  await page.evaluate(() => window.timeline.fill(50));
  await expect.poll(() => page.getByText('11 of 51,550 messages').isVisible()).toBe(true);
  await page.getByLabel('Text in the message').fill('');
  expect(await shownIn(page)).toBe(50_550);
});

test('a page in the background keeps 50,000 messages too, and shows them when it is back', async () => {
  const { page } = await open('about:blank');
  await openTimeline(page, notebook());
  const heap = await page.context().newCDPSession(page);
  await page.evaluate(() => window.timeline.hide());
  const usedAfter = async (messages: number) => {
    await page.evaluate((count) => window.timeline.fill(count), messages);
    await heap.send('HeapProfiler.collectGarbage');
    return (await heap.send('Runtime.getHeapUsage')).usedSize;
  };
  const before = await usedAfter(60_000);
  expect(await usedAfter(140_000)).toBeLessThan(before * 1.5);
  await page.evaluate(() => window.timeline.show());
  await expect.poll(() => shownIn(page)).toBe(50_000);
  expect(await rowsOf(page).first().locator('.about').textContent()).toBe(' note://199999');
  await page.evaluate(() => window.timeline.fill(10));
  await expect.poll(() => shownIn(page)).toBe(50_010);
});

/** Collects the bytes with gzip of each file of the page that is loaded, by its path. */
function sizesOf(page: Page): Map<string, Promise<number>> {
  const sizes = new Map<string, Promise<number>>();
  page.on('response', (response) => {
    const path = new URL(response.url()).pathname;
    if (/(^|\.(js|css|wasm))$/.test(path.slice(1)))
      sizes.set(
        path,
        response.body().then((body) => gzipSync(body).length),
      );
  });
  return sizes;
}

async function sumOf(sizes: Map<string, Promise<number>>): Promise<number> {
  const all = await Promise.all(sizes.values());
  return all.reduce((sum, size) => sum + size);
}

function hasPainted(): boolean {
  return performance.getEntriesByName('first-contentful-paint').length > 0;
}
