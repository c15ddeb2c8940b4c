import type { Locator } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { serveOnNode } from '../host/node-http.ts';
import { BEARER } from '../host/signing.ts';
import { useBrowser } from './browser.ts';
import type { ConsolePage } from './console-page.ts';
import { serveElsewhere } from './guarded-server.ts';
import { useNotebook } from './notebook.ts';

const open = useBrowser();
const notebook = useNotebook();

test('a resource is read again after a cue, and shown beside its last state', async () => {
  const console = await connected();
  await console.callTool('edit_note', { name: 'todo', text: 'one\ntwo\nthree' });
  await console.subscribe('A');
  await console.button('Read note://todo').click();
  const form = console.page.getByRole('tabpanel', { name: 'Resource' });
  const now = form.getByRole('region', { name: 'Now' });
  await expect.poll(() => now.textContent()).toBe('one\ntwo\nthree\n');
  await console.form('Tool');
  await console.callTool('edit_note', { name: 'todo', text: 'one\n2\nthree' });
  await console.form('Resource');
  await expect.poll(() => now.locator('ins').textContent()).toBe('2\n');
  const last = form.getByRole('region', { name: 'Last state' });
  expect(await last.locator('del').textContent()).toBe('two\n');
  expect(await last.textContent()).toBe('one\ntwo\nthree\n');
});

test('a template asks for its variables, and its resource is read', async () => {
  const console = await connected();
  await console.page.getByRole('button', { name: /^note:\/\/\{name\}/ }).click();
  const form = console.page.getByRole('tabpanel', { name: 'Resource' });
  await form.getByLabel('name', { exact: true }).fill('todo');
  expect(await form.getByLabel('URI', { exact: true }).inputValue()).toBe('note://todo');
  await form.getByRole('button', { name: 'Read', exact: true }).click();
  await form.getByText(/^Read\./).waitFor();
});

test('a subscription to an event type receives its events, narrowed by an argument', async () => {
  const console = await connected();
  await console.page.getByRole('button', { name: /^note\.changed/ }).click();
  const form = console.page.getByRole('tabpanel', { name: 'Event' });
  const name = `e${Date.now()}`;
  await form.getByLabel(/^name/).fill(name);
  await form.getByRole('button', { name: 'Subscribe' }).click();
  const card = console.card('A');
  await card.getByText('live', { exact: true }).waitFor();
  expect(
    await card.getByRole('list', { name: 'Requested' }).getByRole('listitem').allTextContents(),
  ).toEqual([`event note.changed {"name":"${name}"}, honored`]);
  await console.form('Tool');
  await console.callTool('edit_note', { name: 'another', text: `at ${Date.now()}` });
  await console.callTool('edit_note', { name, text: 'x' });
  await expect.poll(() => console.figure('A', 'Last cue').textContent()).toBe('event note.changed');
  await console.page.getByLabel('Kind of message').selectOption('Events');
  expect(await console.messages.locator('.about').allTextContents()).toEqual([' note.changed']);
  await card.getByRole('button', { name: 'Close' }).click();
  await card.getByText('stopped', { exact: true }).waitFor();
  expect(await card.getByText('Closed by this page.').isVisible()).toBe(true);
});

test('a subscription to an event type counts the ends of its stream, and no failed event', async () => {
  const console = await connected();
  await console.page.route('**/mcp', (route) => {
    const { id, method } = route.request().postDataJSON();
    if (method !== 'events/stream') return route.fallback();
    const messages = [
      { method: 'notifications/events/active', params: { cursor: null } },
      { method: 'notifications/events/error', params: { error: { code: -32603, message: 'x' } } },
      { id, result: {} },
    ];
    const lines = messages.map((message) => JSON.stringify({ jsonrpc: '2.0', ...message }));
    const body = lines.map((line) => `data: ${line}\n\n`).join('');
    return route.fulfill({ contentType: 'text/event-stream', body });
  });
  await console.page.getByRole('button', { name: /^note\.changed/ }).click();
  const form = console.page.getByRole('tabpanel', { name: 'Event' });
  await form.getByRole('button', { name: 'Subscribe' }).click();
  await expect.poll(() => console.figure('A', 'Ends').textContent()).toMatch(/^graceful [2-9]$/);
});

test('any request is sent by hand, edited and sent again, and copied as curl', async () => {
  const console = await connected();
  const form = await console.form('Request');
  await form.getByLabel('Method').fill('resources/read');
  await form.getByLabel('Params as JSON').fill('{"uri":"note://nowhere"}');
  await form.getByRole('button', { name: 'Send' }).click();
  await expect.poll(() => form.locator('output').textContent()).toMatch(/\(-32\d+\)$/);
  await form.getByLabel('Params as JSON').fill('[]');
  await form.getByRole('button', { name: 'Send' }).click();
  await form.getByText('Params must be a JSON object, such as {}.').waitFor();
  await console.page.getByLabel('Kind of message').selectOption('Requests');
  await console.messages.first().click();
  const dialog = console.page.getByRole('dialog');
  await console.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await dialog.getByRole('button', { name: 'Copy as curl' }).click();
  await dialog.getByText('Copied').waitFor();
  const copied = await console.page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toContain("-H 'Mcp-Method: resources/read'");
  expect(copied).toContain("-H 'Mcp-Name: note://nowhere'");
  await dialog.getByRole('button', { name: 'Edit and send again' }).click();
  const params = form.getByLabel('Params as JSON');
  expect(JSON.parse(await params.inputValue())).toEqual({ uri: 'note://nowhere' });
  await params.fill('{"uri":"note://todo","_meta":{"progressToken":7}}');
  await form.getByRole('button', { name: 'Send' }).click();
  await form.getByText(/^Result after/).waitFor();
  await form.getByText('Result as JSON').click();
  const result = form.getByRole('region', { name: 'The result as JSON' });
  expect(JSON.parse((await result.textContent()) ?? '')).toHaveProperty('contents');
  const sent = await console.messages.count();
  await console.messages.first().click();
  await dialog.getByRole('button', { name: 'Send again', exact: true }).click();
  await expect.poll(() => console.messages.count()).toBe(sent + 1);
  expect(JSON.parse(await params.inputValue())).toMatchObject({ _meta: { progressToken: 7 } });
  await form.getByText(/^Result after/).waitFor();
  expect(console.errors.splice(0).filter((error) => !/\b40\d\b/.test(error))).toEqual([]);
});

test('a request is sent again only to the server that it was sent to', async () => {
  const console = await connected();
  const again = console.button('Send again');
  await console.page.getByLabel('Text in the message').fill('"method":"tools/list"');
  await console.messages.first().click();
  expect(await again.isVisible()).toBe(true);
  await console.page.keyboard.press('Escape');
  await console.connectTo('http://127.0.0.1:9/mcp');
  await console.connection.getByText(/^The endpoint cannot be reached/).waitFor();
  await console.page.getByLabel('Text in the message').fill('"method":"tools/list"');
  await console.messages.first().click();
  expect(await console.button('Copy as curl').isVisible()).toBe(true);
  expect(await again.isVisible()).toBe(false);
  expect(await console.button('Edit and send again').isVisible()).toBe(false);
  console.errors.length = 0;
});

test('over HTTP the page says that it connects to this machine only', async () => {
  const console = await connected();
  for (const endpoint of ['http://mcp.example/mcp', 'http://[::1]:9/mcp']) {
    await console.connectTo('nowhere:');
    await console.connection.getByText('This is not an HTTP URL.').waitFor();
    await console.connectTo(endpoint);
    await console.connection.getByText(/^The page connects over HTTPS, or over HTTP to/).waitFor();
  }
});

test('the messages that match the filter are saved as JSON', async () => {
  const console = await connected();
  await console.page.getByLabel('Text in the message').fill('"method":"tools/list"');
  const saving = console.page.waitForEvent('download');
  await console.button('Export').click();
  const saved = await (await saving).createReadStream();
  const messages = JSON.parse((await saved.toArray()).join(''));
  expect(messages).toMatchObject([{ source: 'page', direction: 'out' }]);
  expect(JSON.parse(messages[0].message)).toMatchObject({ method: 'tools/list' });
});

test('prompts and tools have a field for each argument, by its schema', async () => {
  const lamp = await serveElsewhere();
  onTestFinished(() => lamp.stop());
  const console = await connected();
  await console.connectTo(`${lamp.origin}/mcp`);
  await console.page.getByRole('button', { name: /^praise/ }).click();
  const prompt = console.page.getByRole('tabpanel', { name: 'Prompt' });
  await prompt.getByLabel('color').fill('teal');
  await prompt.getByRole('button', { name: 'Get' }).click();
  await prompt.getByText('user: What a fine teal!').waitFor();
  await console.page.getByRole('button', { name: /^tint/ }).click();
  const tool = console.page.getByRole('tabpanel', { name: 'Tool' });
  await tool.getByLabel('color').selectOption('green');
  expect(await tool.getByLabel(/^percent/).inputValue()).toBe('80');
  // What is optional is omitted.
  expect(await called(tool)).toEqual({ color: 'green', percent: 80 });
  await tool.getByLabel(/^fades/).selectOption('false');
  expect(await tool.getByLabel('x', { exact: true }).isEnabled()).toBe(false);
  await tool.getByLabel(/^spot/).check();
  await tool.getByLabel('x', { exact: true }).fill('1.5');
  await tool.getByLabel('y', { exact: true }).fill('2');
  await tool.getByLabel(/^names/).fill('["a","b"]');
  expect(await called(tool)).toEqual({
    ...{ color: 'green', percent: 80, fades: false },
    ...{ spot: { x: 1.5, y: 2, isSoft: false }, names: ['a', 'b'] },
  });
});

test('a list is read page by page, and one with too many pages says that it has more', async () => {
  const console = await connected();
  const tools = console.page.getByRole('group', { name: 'Tools' });
  const rest = tools.getByText('This list has more than 50 pages. The page shows the first 50.');
  let pages = 3;
  await console.page.route('**/mcp', (route) => {
    const { id, method, params } = route.request().postDataJSON();
    if (method !== 'tools/list') return route.fallback();
    const page = Number(params.cursor ?? 1);
    const tool = { name: `tool-${page}`, inputSchema: { type: 'object' } };
    const next = page < pages ? { nextCursor: String(page + 1) } : {};
    return route.fulfill({ json: { jsonrpc: '2.0', id, result: { tools: [tool], ...next } } });
  });
  const shown = async () => [await tools.getByRole('listitem').count(), await rest.isVisible()];
  for (pages of [3, 50, 51]) {
    await console.connectTo(new URL('/mcp', notebook()).href);
    // Each page comes from the process of this test.
    await expect.poll(shown, { timeout: 45_000 }).toEqual([Math.min(pages, 50), pages > 50]);
  }
});

test('a tool whose schema has changed has the fields of its new schema', async () => {
  const console = await connected();
  let field = 'shade';
  await console.page.route('**/mcp', (route) => {
    const { id, method } = route.request().postDataJSON();
    if (method !== 'tools/list') return route.fallback();
    const inputSchema = { type: 'object', properties: { [field]: { type: 'string' } } };
    const tools = [{ name: 'paint', description: `Takes a ${field}.`, inputSchema }];
    return route.fulfill({ json: { jsonrpc: '2.0', id, result: { tools } } });
  });
  await console.connectTo(new URL('/mcp', notebook()).href);
  const form = console.page.getByRole('tabpanel', { name: 'Tool', exact: true });
  await form.getByLabel(/^shade/).fill('dark');
  await console.connected();
  await console.subscribe('A');
  field = 'depth';
  const body = JSON.stringify({ kind: 'tools_list_changed' });
  await fetch(new URL('/publish', notebook()), { method: 'POST', headers: BEARER, body });
  await form.getByLabel(/^depth/).waitFor();
  expect(await form.getByLabel(/^shade/).count()).toBe(0);
  expect(await form.getByText('Takes a depth.').isVisible()).toBe(true);
});

test('a server that does not allow the page is reported as such', async () => {
  const silent = await serveOnNode(async () => Response.json({}));
  onTestFinished(() => silent.stop());
  const console = await connected();
  await console.connectTo(`${silent.origin}/mcp`);
  await console.connection.getByText(/does not allow this page \(CORS\)/).waitFor();
  const text = await console.connection.textContent();
  expect(text).toContain(new URL(notebook()).origin);
  expect(text).toContain('UPSTREAM=URL npm start');
  expect(text).toContain('npx mcp-listen doctor URL');
  expect(console.errors.splice(0).filter((error) => !/CORS|ERR_FAILED/.test(error))).toEqual([]);
});

/** Calls the tool of a form; resolves with the arguments that it has received. */
async function called(tool: Locator): Promise<unknown> {
  const output = tool.locator('output');
  const last = await output.textContent();
  await tool.getByRole('button', { name: 'Call' }).click();
  const isNew = (text: string) => text !== last && text.startsWith('{');
  await expect.poll(() => output.textContent()).toSatisfy(isNew);
  return JSON.parse((await output.textContent())?.split(' ')[0] ?? '');
}

async function connected(): Promise<ConsolePage> {
  const console = await open(notebook());
  await console.connected();
  return console;
}
