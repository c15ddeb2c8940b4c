import { expect, test } from 'vitest';
import { call, callRequest } from '../../host/call.ts';
import { endpoint } from '../../host/endpoint.ts';
import { LegacySession } from '../../host/legacy.ts';
import { HOOK_SECRET } from '../../host/webhook.ts';
import { useBrowser } from '../browser.ts';
import type { ConsolePage } from '../console-page.ts';
import { useNotebook } from '../notebook.ts';

const open = useBrowser();
const notebook = useNotebook();

/** Each kind of change, what its form is filled in with, and its line in the log. */
const CHANGES = [
  ['resource_updated', { name: 'note://page' }, 'resource_updated note://page'],
  ['resource_updated', { name: 'note://team', group: 'us' }, 'resource_updated note://team for a'],
  ['tools_list_changed', {}, 'tools_list_changed'],
  ['prompts_list_changed', {}, 'prompts_list_changed'],
  ['resources_list_changed', {}, 'resources_list_changed'],
  ['events_list_changed', {}, 'events_list_changed'],
  ['task_status', { name: 'task-of-page' }, 'task_status task-of-page'],
] as const;

test('a change of every kind is published after it was confirmed, and is in the log', async () => {
  const console = await operating();
  const kinds = await console.actions.getByLabel('Event').locator('option').all();
  expect(await Promise.all(kinds.map((kind) => kind.getAttribute('value')))).toEqual([
    ...new Set(CHANGES.map(([kind]) => kind)),
    'event',
  ]);
  for (const [kind, fields, line] of CHANGES) {
    expect(await publish(console, kind, fields)).toContain(`"kind":"${kind}"`);
    await console.page.getByRole('cell', { name: line }).first().waitFor();
    await expect
      .poll(() => console.actions.locator('output').textContent())
      .toMatch(/^Published at position \d+\.$/);
  }
});

test('the cues of a test publish are measured when they arrive at the page', async () => {
  const console = await open(notebook());
  await console.connected();
  await console.subscribe('A');
  await console.operate();
  await publish(console, 'resource_updated', { name: 'note://todo' });
  const delays = /^Publish to arrival: p50 [\d.]+ m?s, p95 [\d.]+ m?s, p99 [\d.]+ m?s$/;
  await console.page.getByRole('img', { name: delays }).waitFor();
  await console.page.getByRole('tab', { name: 'Inspect' }).click();
  await expect.poll(() => console.dots.count()).toBe(1);
});

test('an occurrence of MCP Events is published after it was confirmed, and can be polled', async () => {
  const console = await operating();
  const { result } = await poll();
  const data = { name: 'page', length: 4, changedAt: '2026-11-27T00:00:00.000Z' };
  const text = await publish(console, 'event', { name: 'note.changed', data });
  const event = JSON.stringify({ kind: 'event', name: 'note.changed', data });
  expect(text).toBe(`Publishes ${event} to every stream that follows it.`);
  await console.actions.getByText(/^Published/).waitFor();
  expect((await poll({ cursor: result?.cursor })).result?.events).toMatchObject([{ data }]);
});

test('what the bus does not accept is reported with its reason', async () => {
  const console = await operating();
  await publish(console, 'event', { name: 'unknown.type' });
  await console.actions.getByText(/^Refused: .*\(400\)\.$/).waitFor();
  expect(console.errors.splice(0).filter((error) => !error.includes('400'))).toEqual([]);
});

test('without the token only public numbers are shown, and a wrong one is refused', async () => {
  const console = await open(new URL('/', notebook()).href);
  await console.connected();
  await console.page.getByRole('tab', { name: 'Operate' }).click();
  await console.page.getByText(/^Watching without the token/).waitFor();
  await expect.poll(() => console.reading('isolates').textContent()).toMatch(/^\d+$/);
  await console.page.getByLabel('Operator token').fill('of-someone-else');
  await console.page.keyboard.press('Enter');
  await console.page.getByText(/^Enter the operator token, and press Watch/).waitFor();
  expect(await console.reading('isolates').isVisible()).toBe(false);
  expect(console.errors.splice(0).filter((error) => !error.includes('401'))).toEqual([]);
});

test('the sessions and the webhook subscriptions of the bus are counted', async () => {
  const console = await operating();
  expect(await console.reading('sessions').textContent()).toBe('0');
  expect(await console.reading('webhooks').textContent()).toBe('0');
  const session = await LegacySession.begin((init) => fetch(mcp(), init));
  const { url } = await endpoint(HOOK_SECRET);
  const delivery = { mode: 'webhook', url, secret: HOOK_SECRET };
  const request = callRequest(mcp(), 'events/subscribe', { name: 'note.changed', delivery });
  request.headers.set('authorization', 'Bearer ada');
  expect(await (await fetch(request)).json()).toHaveProperty('result');
  await expect.poll(() => console.reading('sessions').textContent()).toBe('1');
  await expect.poll(() => console.reading('webhooks').textContent()).toBe('1');
  await session.end();
  await expect.poll(() => console.reading('sessions').textContent()).toBe('0');
});

async function operating(): Promise<ConsolePage> {
  const console = await open(notebook());
  await console.connected();
  await console.operate();
  return console;
}

/** What the form of a publish is filled in with. */
interface Fields {
  name?: string;
  group?: string;
  data?: object;
}

/** Fills in the form, submits and confirms it; resolves with the text of the confirmation. */
async function publish(
  console: ConsolePage,
  kind: string,
  { data, group = '', name }: Fields,
): Promise<string> {
  const { actions } = console;
  await actions.getByLabel('Event').selectOption(kind);
  if (name !== undefined) await actions.getByLabel('URI, task or name').fill(name);
  await actions.getByLabel('Only for the group').fill(group);
  if (data !== undefined) await actions.getByLabel('Data as JSON').fill(JSON.stringify(data));
  await actions.getByRole('button', { name: 'Publish' }).click();
  return console.confirm('Publish an event?', 'Publish');
}

interface Polled {
  cursor: string;
  events: { data: object }[];
}

function poll(params: object = {}) {
  return call<Polled>(mcp(), 'events/poll', { name: 'note.changed', ...params });
}

function mcp(): string {
  return new URL('/mcp', notebook()).href;
}
