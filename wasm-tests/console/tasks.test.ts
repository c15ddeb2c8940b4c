import { createListenHandler, InMemoryBus, type ListenHandler } from 'mcp-listen';
import { expect, onTestFinished, test } from 'vitest';
import { taskHandler } from '../conformance/tasks/handler.ts';
import { taskState, WITH_TASKS } from '../host/listen.ts';
import { serveOnNode } from '../host/node-http.ts';
import { declaring } from '../host/options.ts';
import { useBrowser } from './browser.ts';
import type { ConsolePage } from './console-page.ts';
import { type Elsewhere, serveElsewhere } from './guarded-server.ts';
import { useNotebook } from './notebook.ts';

const open = useBrowser();
const notebook = useNotebook();

test('a subscription requests the named tasks, and shows the state of each', async () => {
  const { console, notify } = await connected();
  await console.addTask('t-1');
  await console.addTask('t-2');
  await console.button('Open a subscription').click();
  const card = console.card('A');
  await card.getByText('live', { exact: true }).waitFor();
  expect(await console.tasks('A')).toEqual([
    'task t-1, honored, no state yet',
    'task t-2, honored, no state yet',
  ]);
  await notify.taskStatus({ ...taskState('t-1'), statusMessage: 'Half done' });
  await expect
    .poll(() => console.tasks('A'))
    .toEqual(['task t-1, honored, working: Half done', 'task t-2, honored, no state yet']);
  await notify.taskStatus({ ...taskState('t-1'), status: 'completed', result: {} });
  await expect.poll(async () => (await console.tasks('A'))[0]).toBe('task t-1, honored, completed');
  expect(await console.figure('A', 'Last cue').textContent()).toBe('task t-1');
});

test('a task that a tool creates is added, its state is read, and it is cancelled', async () => {
  const endpoint = await servedTasks();
  const console = await open(notebook());
  await console.connected();
  await console.connectTo(endpoint);
  await console.page.getByLabel('Task ID').waitFor();
  await console.connected();
  const none = console.page.getByText(/^Call a tool that creates a task/);
  expect(await none.isVisible()).toBe(true);
  const output = await console.callTool('confirm_delete');
  const [, id = ''] = output.match(/^The server works on task (\S+)\./) ?? [];
  expect(await console.tick(new RegExp(`^${id}`)).isChecked()).toBe(true);
  expect(await none.isVisible()).toBe(false);
  await console.subscribe('A');
  expect(await console.tasks('A')).toEqual([`task ${id}, honored, no state yet`]);
  const row = console.page.getByRole('group', { name: 'Tasks' });
  await console.button(`Get task ${id}`).click();
  await row.getByText('input_required', { exact: true }).waitFor();
  await console.button(`Cancel task ${id}`).click();
  await row.getByText('accepted', { exact: true }).waitFor();
  await expect.poll(() => console.tasks('A')).toEqual([`task ${id}, honored, cancelled`]);
  await console.button(`Get task ${id}`).click();
  await row.getByText('cancelled', { exact: true }).waitFor();
});

test('a task that is no longer checked is not requested', async () => {
  const { console } = await connected();
  await console.addTask('t-1');
  await console.addTask('t-2');
  await console.tick(/^t-1/).uncheck();
  await console.button('Open a subscription').click();
  expect(await console.tasks('A')).toEqual(
    expect.not.arrayContaining([expect.stringContaining('t-1')]),
  );
});

test('a server without tasks offers none', async () => {
  const console = await open(notebook());
  await console.connected();
  expect(await console.page.getByLabel('Task ID').count()).toBe(0);
});

test('the 27th subscription has a unique name, element and messages', async () => {
  const console = await open(notebook());
  await console.connected();
  for (let count = 0; count < 27; count += 1) await console.button('Open a subscription').click();
  const cards = console.page.getByRole('article');
  await expect.poll(() => cards.count()).toBe(27);
  const names = await cards.evaluateAll((all) =>
    all.map((card) => card.getAttribute('aria-labelledby')),
  );
  expect(new Set(names).size).toBe(27);
  expect(await console.card('AA').count()).toBe(1);
  expect(await console.card('AA').locator('.badge').getAttribute('data-series')).toBe(
    String(26 % 6),
  );
  const sources = await console.page
    .getByLabel('Source of the messages')
    .locator('option')
    .allTextContents();
  expect(sources.filter((source) => source.endsWith(' A') || source.endsWith(' AA'))).toHaveLength(
    2,
  );
});

/** A console that is connected to a server with tasks, and the notifier of that server. */
async function connected(): Promise<{
  console: ConsolePage;
  notify: Elsewhere['server']['notify'];
}> {
  const server = await serveElsewhere(
    undefined,
    { bus: new InMemoryBus(), server: declaring(WITH_TASKS) },
    WITH_TASKS,
  );
  onTestFinished(() => server.stop());
  const console = await open(notebook());
  await console.connected();
  await console.connectTo(`${server.origin}/mcp`);
  await console.page.getByText('A lamp', { exact: true }).waitFor();
  return { console, notify: server.server.notify };
}

/** Serves tools whose calls become tasks, to pages of any origin; resolves with the endpoint. */
async function servedTasks(): Promise<string> {
  const server: ListenHandler = createListenHandler(
    taskHandler((task) => server.notify.taskStatus(task)),
    { allowedOrigins: ['*'] },
  );
  const { origin, stop } = await serveOnNode(server.fetch);
  onTestFinished(stop);
  return `${origin}/mcp`;
}
