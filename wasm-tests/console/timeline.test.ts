import { beforeEach, expect, test } from 'vitest';
import { acknowledged, updated } from '../host/listen.ts';
import { BEARER } from '../host/signing.ts';
import type { ConsolePage } from './console-page.ts';
import { useConnectedConsole } from './notebook.ts';
import { observeShifts, shiftsOf } from './shifts.ts';

const open = useConnectedConsole();
let console: ConsolePage;

beforeEach(async () => {
  console = await open();
  await console.subscribe('A');
  await console.publish('note://todo');
  await expect
    .poll(() => console.messages.filter({ hasText: 'resources/updated' }).count())
    .toBeGreaterThan(0);
});

test('the timeline stands still while it is paused, and then shows what came meanwhile', async () => {
  await pause();
  const before = await total();
  await console.publish('note://todo', 3);
  await expect.poll(missed).toBeGreaterThan(0);
  const came = await missed();
  expect(await total()).toBe(before);
  await console.button('Resume').click();
  expect(await total()).toBeGreaterThanOrEqual(before + came);
});

test('a filter that is changed during a pause searches what came before the pause', async () => {
  const { page } = console;
  const text = page.getByLabel('Text in the message');
  await pause();
  const before = await total();
  await console.publish('note://shopping', 3);
  await console.publish('note://todo', 3);
  await expect.poll(missed).toBeGreaterThan(0);
  const came = await missed();
  await text.fill('subscriptions/ack');
  expect(await titles()).toEqual(['subscriptions/acknowledged']);
  await text.fill('');
  expect(await total()).toBe(before);
  expect(await missed()).toBeGreaterThanOrEqual(came);
  await console.button('Resume').click();
  expect(await total()).toBeGreaterThanOrEqual(before + came);
});

test('the timeline is filtered by text, by source and by kind', async () => {
  const { page } = console;
  await page.getByLabel('Text in the message').fill('SUBSCRIPTIONS/ACK');
  expect(await titles()).toEqual(['subscriptions/acknowledged']);
  await page.getByLabel('Text in the message').fill('');
  await page.getByLabel('Source of the messages').selectOption('This page');
  expect(await titles()).toContain('result of resources/list');
  expect(await titles()).not.toContain('resources/updated');
  await page.getByLabel('Source of the messages').selectOption('Subscription A');
  const all = await titles();
  const place = all.indexOf('subscriptions/acknowledged');
  expect(new Set(all.slice(0, place))).toEqual(ONLY_CUES);
  expect(all[place + 1]).toBe('subscriptions/listen');
  await page.getByLabel('Kind of message').selectOption('Cues');
  expect(new Set(await titles())).toEqual(ONLY_CUES);
  await page.getByLabel('Text in the message').fill('{"JSONRPC":"2.0"');
  expect(new Set(await titles())).toEqual(ONLY_CUES);
  await page.getByLabel('Text in the message').fill('"jsonrpc":"2?0"');
  expect(await page.getByText('No message matches the filter.').isVisible()).toBe(true);
  await page.getByLabel('Text in the message').fill('');
  const before = await total();
  await console.publish('note://todo', 2);
  await expect.poll(total).toBeGreaterThan(before);
  expect(new Set(await titles())).toEqual(ONLY_CUES);
});

test('the timeline opens a message as JSON, formatted and as sent', async () => {
  const { page } = console;
  await console.messages.filter({ hasText: 'resources/updated' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'resources/updated' });
  const json =
    (await dialog.getByRole('region', { name: 'The message as JSON' }).textContent()) ?? '';
  expect(JSON.parse(json)).toMatchObject({
    method: 'notifications/resources/updated',
    params: { uri: 'note://todo' },
  });
  expect(json).toContain('\n  "jsonrpc": "2.0"');
  await dialog.getByText('Raw text').click();
  const raw = await dialog
    .getByRole('region', { name: 'The message as it was sent' })
    .textContent();
  expect(raw).toMatch(/^\{"jsonrpc":"2\.0","method":"notifications\/resources\/updated",/);
  await page.keyboard.press('Escape');
  expect(await dialog.isVisible()).toBe(false);
});

test('arrow keys move in the timeline, which is one stop of the Tab key', async () => {
  const { page } = console;
  // Another cue would move the rows.
  await pause();
  await page.getByLabel('Kind of message').focus();
  await page.keyboard.press('Tab');
  const standing = () =>
    page.evaluate(() =>
      [...(document.activeElement?.closest('ol')?.children ?? [])].findIndex((row) =>
        row.contains(document.activeElement),
      ),
    );
  expect(await standing()).toBe(0);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  expect(await standing()).toBe(2);
  await page.keyboard.press('ArrowUp');
  expect(await standing()).toBe(1);
  await page.keyboard.press('Enter');
  expect(await page.getByRole('dialog').isVisible()).toBe(true);
  await page.keyboard.press('Escape');
  await page.keyboard.press('Tab');
  expect(await standing()).toBe(-1);
});

test('a closed message has the focus again, also if its row had left the page', async () => {
  const { page } = console;
  // Another message may become the first one meanwhile.
  const row = await console.messages.first().elementHandle();
  await row?.focus();
  await page.keyboard.press('Enter');
  const text = await row?.textContent();
  await expect
    .poll(async () => {
      await publishFromElsewhere(10);
      return row?.evaluate(({ isConnected }) => isConnected);
    })
    .toBe(false);
  await page.keyboard.press('Escape');
  await expect.poll(focused).toBe(text);
});

test('the timeline keeps its lines in place while fifty messages a second arrive', async () => {
  const { page } = console;
  await console.subscribe('B');
  await page.evaluate(observeShifts);
  const box = await page.locator('#messages-box').boundingBox();
  await console.publish('note://todo', 50, '50 per second');
  expect(await page.locator('#messages-box').boundingBox()).toEqual(box);
  const heights = await console.messages.evaluateAll((rows) =>
    rows.map((row) => row.getBoundingClientRect().height),
  );
  expect(new Set(heights).size).toBe(1);
  expect(await shiftsOf(page)).toEqual([]);
});

test('the timeline has all messages of a burst, and the page only the rows in view', async () => {
  const { page } = console;
  const text = page.getByLabel('Text in the message');
  await page.getByLabel('Kind of message').selectOption('Cues');
  await text.fill('burst://');
  await respondWith(Array.from({ length: 450 }, (_, place) => `burst://${100 + place}`));
  await console.button('Open a subscription').click();
  await page.getByText(/^450 of \d+ messages$/).waitFor();
  expect(await console.messages.count()).toBeLessThan(60);
  expect(await console.messages.first().locator('.about').textContent()).toBe(' burst://549');
  await console.messages.first().focus();
  await page.keyboard.press('End');
  expect(await focused()).toContain('burst://100');
  expect(await console.messages.count()).toBeLessThan(60);
  await page.keyboard.press('ArrowUp');
  expect(await focused()).toContain('burst://101');
  await text.fill('');
  await console.messages.first().focus();
  await page.keyboard.press('End');
  // The first cue, from before the burst.
  expect(await focused()).toContain('note://todo');
});

/** Publishes as another client, so that the focus of the page stays where it is. */
async function publishFromElsewhere(times: number): Promise<void> {
  const body = JSON.stringify({ kind: 'resource_updated', uri: 'note://todo' });
  const url = new URL('/publish', console.page.url());
  for (let done = 0; done < times; done += 1)
    await fetch(url, { method: 'POST', headers: BEARER, body });
}

/** Responds to the next listen request with cues for these URIs, and to none after it. */
async function respondWith(uris: string[]): Promise<void> {
  let isFirst = true;
  await console.page.route('**/mcp', (route) => {
    const { id, method } = route.request().postDataJSON();
    if (method !== 'subscriptions/listen') return route.fallback();
    // The stream ends after the cues, so the page opens it again.
    if (!isFirst) return;
    isFirst = false;
    const own = JSON.stringify(id);
    const messages = [acknowledged(own, {}), ...uris.map((uri) => updated(own, uri))];
    return route.fulfill({
      contentType: 'text/event-stream',
      body: messages.map((text) => `data: ${text}\n\n`).join(''),
    });
  });
}

/** Pauses the timeline; resolves once it shows everything that came before. */
async function pause(): Promise<void> {
  await console.button('Pause').click();
  await console.page.evaluate(() => new Promise(requestAnimationFrame));
}

/** How many messages have come since the timeline was paused. */
async function missed(): Promise<number> {
  const text = await console.page.getByText(/^paused, /).textContent();
  return Number(text?.match(/^paused, ([\d,]+) new$/)?.[1]?.replaceAll(',', ''));
}

/** The text of the row that has the focus. */
function focused(): Promise<string | null | undefined> {
  return console.page.evaluate(() => document.activeElement?.textContent);
}

/** How many messages the list has, whether in view or not. */
async function total(): Promise<number> {
  return Number(await console.messages.first().locator('..').getAttribute('aria-setsize'));
}

function titles(): Promise<string[]> {
  return console.messages.locator('.what').allTextContents();
}

/**
 * The titles of the cues of a change. There may be several: a stream may also receive a change from
 * just before it opened, which may be one of the test before.
 */
const ONLY_CUES = new Set(['resources/updated']);
