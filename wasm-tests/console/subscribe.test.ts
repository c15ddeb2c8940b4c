import { expect, test } from 'vitest';
import { BEARER } from '../host/signing.ts';
import { useBrowser } from './browser.ts';
import type { ConsolePage } from './console-page.ts';
import { useNotebook } from './notebook.ts';

const open = useBrowser();
const notebook = useNotebook();

test('a subscription requests what is checked, and shows what is honored', async () => {
  const console = await connected();
  await console.tick(/^Prompts/).uncheck();
  await console.page.getByLabel('Another URI').fill('note://shopping');
  await console.button('Add').click();
  const card = await console.subscribe('A');
  expect(await filterOf(console, 'A')).toEqual([
    'tools list, honored',
    'resources list, honored',
    'event types list, honored',
    'note://todo, honored',
    'note://shopping, honored',
  ]);
  expect(await card.locator('.id').textContent()).toMatch(ID);
  const sent = console.messages.filter({ hasText: 'subscriptions/listen' });
  await sent.click();
  expect(
    await console.page.getByRole('region', { name: 'The message as JSON' }).textContent(),
  ).toContain('"note://shopping"');
});

test('a subscription shows what the server does not honor', async () => {
  const console = await connected();
  await console.page.route('**/mcp', async (route) => {
    const body = route.request().postDataJSON();
    if (body.method === 'subscriptions/listen') delete body.params.notifications.promptsListChanged;
    await route.continue({ postData: JSON.stringify(body) });
  });
  await console.subscribe('A');
  expect(await filterOf(console, 'A')).toContain('prompts list, not honored');
  expect(await filterOf(console, 'A')).toContain('tools list, honored');
});

test('a subscription receives the cue of a tool call, plots it, and reads the list again', async () => {
  const console = await connected();
  await console.subscribe('A');
  const name = `n${Date.now()}`;
  expect(await console.callTool('edit_note', { name, text: 'x' })).toContain(
    `Created note://${name}.`,
  );
  await expect.poll(() => console.figure('A', 'Last cue').textContent()).toBe('resources');
  await console.tick(new RegExp(`^note://${name}`)).waitFor();
  await expect.poll(() => console.dots.count()).toBe(1);
  expect(Number(await console.figure('A', 'Messages').textContent())).toBeGreaterThanOrEqual(2);
  expect(await console.figure('A', 'Age').textContent()).toMatch(/^\d+ s$/);
  await expect
    .poll(() => console.page.locator('#announcement').textContent())
    .toBe('Subscription A received a cue for resources.');
});

test.each(['tools', 'prompts', 'resources', 'events'])(
  'the list of %s is read again after its cue',
  async (list) => {
    const console = await connected();
    await console.page.getByLabel('Kind of message').selectOption('Results');
    const results = console.messages.filter({ hasText: `result of ${list}/list` });
    const before = await results.count();
    await console.subscribe('A');
    // The list is read again when the subscription is live.
    await expect.poll(() => results.count()).toBe(before + 1);
    const body = JSON.stringify({ kind: `${list}_list_changed` });
    await fetch(new URL('/publish', notebook()), { method: 'POST', headers: BEARER, body });
    await expect.poll(() => results.count()).toBe(before + 2);
  },
);

test('a list marks its new entries, and keeps the checked ones that it no longer has', async () => {
  const console = await connected();
  const lists = { tools: [] as object[], resources: [{ uri: 'x://1', name: 'one' }] };
  await console.page.route('**/mcp', (route) => {
    const { id, method } = route.request().postDataJSON();
    const [, list] = /^(tools|resources)\/list$/.exec(method) ?? [];
    if (list === undefined) return route.fallback();
    const result = { [list]: lists[list as keyof typeof lists] };
    return route.fulfill({ json: { jsonrpc: '2.0', id, result } });
  });
  await console.connectTo(new URL('/mcp', notebook()).href);
  await console.tick(/^x:\/\/1/).waitFor();
  await recordMarks(console.page);
  await console.subscribe('A');
  lists.tools = [{ name: 'paint', inputSchema: { type: 'object' } }];
  lists.resources = [{ uri: 'x://2', name: 'two' }];
  for (const kind of ['tools_list_changed', 'resources_list_changed']) {
    const body = JSON.stringify({ kind });
    await fetch(new URL('/publish', notebook()), { method: 'POST', headers: BEARER, body });
  }
  const marked = () => console.page.evaluate(() => [...(globalThis as unknown as Marks).marked]);
  await expect.poll(async () => (await marked()).toSorted()).toEqual(['paint', 'x://2']);
  await console.tick(/^x:\/\/1.*not listed/).uncheck();
  await console.page.getByText('Selected: 4 lists', { exact: true }).waitFor();
});

test('a list that cannot be read again is an error, until it is read', async () => {
  const console = await connected();
  await console.subscribe('A');
  let isDown = true;
  await console.page.route('**/mcp', (route) =>
    isDown && route.request().postDataJSON().method === 'tools/list'
      ? route.fulfill({ status: 503 })
      : route.fallback(),
  );
  const body = JSON.stringify({ kind: 'tools_list_changed' });
  const publish = () =>
    fetch(new URL('/publish', notebook()), { method: 'POST', headers: BEARER, body });
  await publish();
  await console.connection.getByText(/503/).waitFor();
  isDown = false;
  await publish();
  await console.connected();
  expect(console.errors.splice(0).filter((error) => !error.includes('503'))).toEqual([]);
});

test('an invalid subscription is refused, and the page keeps working', async () => {
  const console = await connected();
  await console.page.getByLabel('Another URI').fill('note://a\u0007b');
  await console.button('Add').click();
  await console.button('Open a subscription').click();
  await expect.poll(() => console.connection.getAttribute('data-state')).toBe('stopped');
  expect(await console.page.getByRole('article').count()).toBe(0);
  await console.page.getByRole('checkbox', { name: /^note:\/\/a/ }).uncheck();
  await console.subscribe('A');
  await console.connected();
});

test('each subscription has a separate id, filter and figures', async () => {
  const console = await connected();
  await console.subscribe('A');
  for (const list of [/^Tools/, /^Prompts/, /^Resources/, /^Event types/])
    await console.tick(list).uncheck();
  await console.tick(/^note:\/\/todo/).uncheck();
  await console.tick(/^note:\/\/journal/).check();
  await console.subscribe('B');
  const ids = await console.page.getByRole('article').locator('.id').allTextContents();
  expect(ids).toHaveLength(2);
  expect(ids.filter((id) => !ID.test(id))).toEqual([]);
  expect(await filterOf(console, 'B')).toEqual(['note://journal, honored']);
  await console.callTool('edit_note', { name: 'journal', text: `day ${Date.now()}` });
  await expect.poll(() => console.figure('B', 'Last cue').textContent()).toBe('note://journal');
  expect(await console.figure('A', 'Last cue').textContent()).toBe('none yet');
});

test('a button closes a subscription, and another one removes its card', async () => {
  const console = await connected();
  const card = await console.subscribe('A');
  await expect.poll(() => console.streams()).toBeGreaterThanOrEqual(1);
  const before = await console.streams();
  await card.getByRole('button', { name: 'Close' }).click();
  await card.getByText('stopped', { exact: true }).waitFor();
  expect(await console.figure('A', 'Ends').textContent()).toBe('closed here 1');
  expect(await console.figure('A', 'Acknowledged').textContent()).toMatch(/^in [\d.]+ m?s$/);
  const messages = await console.figure('A', 'Messages').textContent();
  // workerd notices that a reader has left when it next writes.
  await console.publish('note://todo', 3, '50 per second');
  await expect.poll(() => console.streams()).toBeLessThan(before);
  expect(await console.figure('A', 'Messages').textContent()).toBe(messages);
  await card.getByRole('button', { name: 'Remove' }).click();
  expect(await console.page.getByRole('article').count()).toBe(0);
  expect(await console.page.getByText('No subscription is open.').isVisible()).toBe(true);
});

async function connected(): Promise<ConsolePage> {
  const console = await open(notebook());
  await console.connected();
  return console;
}

async function filterOf(console: ConsolePage, name: string): Promise<string[]> {
  return console
    .card(name)
    .getByRole('list', { name: 'Requested' })
    .getByRole('listitem')
    .allTextContents();
}

const ID = /^"?[\w:-]+"?$/;

interface Marks {
  marked: Set<string | null>;
}

/** Records which entries are marked as new, since the next reading of a list removes the marks. */
function recordMarks(page: ConsolePage['page']): Promise<void> {
  return page.evaluate(() => {
    const marked = new Set<string | null>();
    (globalThis as unknown as Marks).marked = marked;
    const record = () => {
      for (const name of document.querySelectorAll('.items .new .name'))
        marked.add(name.textContent);
    };
    const changes = { subtree: true, childList: true, attributes: true };
    new MutationObserver(record).observe(document.body, changes);
  });
}
