import { beforeEach, expect, test } from 'vitest';
import { acknowledged, updated } from '../host/listen.ts';
import { useBrowser } from './browser.ts';
import type { ConsolePage } from './console-page.ts';
import { useNotebook } from './notebook.ts';
import { observeShifts, shiftsOf } from './shifts.ts';

const open = useBrowser();
const notebook = useNotebook();
let console: ConsolePage;

beforeEach(async () => {
  console = await open(notebook());
  await console.connected();
  await console.subscribe('A');
  await console.publish('note://todo');
  await cues(1);
});

test('the timeline stands still while it is paused, and then shows what came meanwhile', async () => {
  const before = await total();
  await console.button('Pause').click();
  await console.publish('note://todo', 3);
  await console.page.getByText('paused, 3 new').waitFor();
  expect(await total()).toBe(before);
  await console.button('Resume').click();
  expect(await total()).toBe(before + 3);
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
  expect((await titles()).slice(0, 3)).toEqual([
    'resources/updated',
    'subscriptions/acknowledged',
    'subscriptions/listen',
  ]);
  await page.getByLabel('Kind of message').selectOption('Cues');
  expect(await titles()).toEqual(['resources/updated']);
  await page.getByLabel('Text in the message').fill('{"JSONRPC":"2.0"');
  expect(await titles()).toEqual(['resources/updated']);
  await page.getByLabel('Text in the message').fill('"jsonrpc":"2?0"');
  expect(await page.getByText('No message matches the filter.').isVisible()).toBe(true);
  await page.getByLabel('Text in the message').fill('');
  await console.publish('note://todo', 2);
  await cues(3);
  expect(new Set(await titles())).toEqual(new Set(['resources/updated']));
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
  await page.route('**/mcp', (route) => {
    const { id, method } = route.request().postDataJSON();
    if (method !== 'subscriptions/listen') return route.fallback();
    const own = JSON.stringify(id);
    const uris = Array.from({ length: 450 }, (_, place) => `note://${place}`);
    const messages = [acknowledged(own, {}), ...uris.map((uri) => updated(own, uri))];
    return route.fulfill({
      contentType: 'text/event-stream',
      body: messages.map((text) => `data: ${text}\n\n`).join(''),
    });
  });
  await page.getByLabel('Kind of message').selectOption('Cues');
  // One, or two: a stream may receive a change from just before it opened.
  const before = await console.messages.count();
  await console.button('Open a subscription').click();
  await page.getByText(new RegExp(`^${before + 450} of \\d+ messages$`)).waitFor();
  expect(await console.messages.count()).toBeLessThan(60);
  expect(await console.messages.first().locator('.about').textContent()).toBe(' note://449');
  await console.messages.first().focus();
  await page.keyboard.press('End');
  // The cue before the burst.
  expect(await page.evaluate(() => document.activeElement?.textContent)).toContain('note://todo');
  expect(await console.messages.count()).toBeLessThan(60);
  await page.keyboard.press('ArrowUp');
  expect(await page.evaluate(() => document.activeElement?.textContent)).toContain('note://0');
});

async function cues(least: number): Promise<void> {
  const { messages } = console;
  await expect
    .poll(() => messages.filter({ hasText: 'resources/updated' }).count())
    .toBeGreaterThanOrEqual(least);
}

/** How many messages the list has, whether in view or not. */
async function total(): Promise<number> {
  return Number(await console.messages.first().locator('..').getAttribute('aria-setsize'));
}

function titles(): Promise<string[]> {
  return console.messages.locator('.what').allTextContents();
}
