import { expect, test } from 'vitest';
import { callTool as callElsewhere } from '../host/call.ts';
import { useBrowser } from './browser.ts';
import type { ConsolePage } from './console-page.ts';
import { Keyboard } from './keyboard.ts';
import { useNotebook } from './notebook.ts';

const open = useBrowser();
const notebook = useNotebook();

// It presses more than 150 keys, and looks at the page after each of them.
const KEYS = { timeout: 120_000 };

test('Inspect is used by keyboard alone, and the focus is visible at each stop', KEYS, async () => {
  const console = await open(notebook());
  await console.connected();
  const keys = new Keyboard(console.page);
  await connect(console, keys);
  await openSubscription(console, keys);
  await callTool(console, keys);
  await openCue(console, keys);
  await readResource(console, keys);
  await keys.follow('Shift+Tab', [...CONNECTION, ...RESOURCES.slice(0, 5)].reverse());
  await keys.follow('Shift+Tab', ['radio "Auto"', 'tab "Inspect"']);
  await keys.follow('ArrowRight', ['tab "Operate"']);
  await console.page.getByText('watching', { exact: true }).waitFor();
  expect(await console.page.getByRole('tabpanel', { name: 'Inspect' }).isVisible()).toBe(false);
  await keys.follow('Tab', ['radio "Auto"', 'textbox "Operator token"', 'button "Watch"']);
});

test('a removed card passes the focus to its neighbor, and the last one to their section', async () => {
  const console = await open(notebook());
  await console.connected();
  await console.subscribe('A');
  await console.subscribe('B');
  const keys = new Keyboard(console.page);
  await keys.follow('Tab', ['button "Close"']);
  for (const name of ['A', 'B']) {
    await keys.press('Enter');
    await console.card(name).getByText('stopped', { exact: true }).waitFor();
    expect(await keys.focused()).toContain('button "Remove"');
    const next = name === 'A' ? 'button "Close"' : 'region "Subscriptions"';
    expect(await keys.press('Enter')).toContain(next);
  }
  await keys.follow('Tab', ['button "Pause"']);
});

test('a list that is read again leaves the focus where it is', async () => {
  const console = await open(notebook());
  await console.connected();
  await console.subscribe('A');
  const keys = new Keyboard(console.page);
  const stops = [...RESOURCES.slice(3), ...TOOLS, PROMPTS, ...EVENTS];
  await keys.follow('Shift+Tab', stops.reverse());
  const former = await console.button('Read note://todo').elementHandle();
  await callElsewhere(new URL('/mcp', notebook()).href, 'edit_note', { name: 'third', text: 'x' });
  await console.tick(/^note:\/\/third/).waitFor();
  expect(await former?.evaluate(({ isConnected }) => isConnected)).toBe(false);
  expect(await keys.focused()).toContain('button "Read note://todo"');
  await keys.follow('Tab', ['checkbox "note://journal']);
});

/** From the top of the page: enters an endpoint and connects, and stays at the button. */
async function connect(console: ConsolePage, keys: Keyboard): Promise<void> {
  await keys.follow('Tab', ['link "Skip to the content"']);
  expect(await keys.press('Enter')).toMatch(/^main/);
  await keys.follow('Tab', [ENDPOINT]);
  await keys.type(new URL('/mcp', notebook()).href);
  await keys.follow('Tab', [TOKEN, CONNECT]);
  expect(await keys.press('Space')).toContain(CONNECT);
  await console.connected();
  expect(await keys.focused()).toContain(CONNECT);
}

/** From there: unchecks a list, checks a resource, and opens a subscription. */
async function openSubscription(console: ConsolePage, keys: Keyboard): Promise<void> {
  await keys.follow('Tab', [SIGN_IN, ...RESOURCES.slice(0, 5)]);
  await keys.press('Space');
  await keys.follow('Tab', [...RESOURCES.slice(5), ...TOOLS, PROMPTS]);
  await keys.press('Space');
  await keys.follow('Tab', [...EVENTS, OPEN]);
  expect(await keys.press('Enter')).toContain(OPEN);
  const card = console.card('A');
  await card.getByText('live', { exact: true }).waitFor();
  const requested = card.getByRole('list', { name: 'Requested' }).getByRole('listitem');
  expect(await requested.allTextContents()).toEqual([
    'tools list, honored',
    'resources list, honored',
    'event types list, honored',
    'note://todo, honored',
    'note://journal, honored',
  ]);
}

/** From there: calls a tool, whose form its entry in the list shows. */
async function callTool(console: ConsolePage, keys: Keyboard): Promise<void> {
  await keys.follow('Shift+Tab', [...TOOLS.slice(2), PROMPTS, ...EVENTS].reverse());
  expect(await keys.press('Enter')).toContain('combobox "Tool"');
  await keys.follow('Tab', ['textbox "name"']);
  await keys.type('journal');
  await keys.follow('Tab', ['textbox "text"', 'button "Call"']);
  expect(await keys.press('Enter')).toContain('button "Call"');
  await console.page.getByText(/^Changed note:\/\/journal\./).waitFor();
  expect(await keys.focused()).toContain('button "Call"');
  await expect.poll(() => console.figure('A', 'Last cue').textContent()).toBe('note://journal');
}

/** From there: pauses the timeline, filters it, and opens and closes the cue. */
async function openCue(console: ConsolePage, keys: Keyboard): Promise<void> {
  const form = ['tab "Tool"', 'combobox "Tool"', 'textbox "name"', 'textbox "text"'];
  await keys.follow('Shift+Tab', [...TIMELINE, ...FILTERS, 'button', ...form].reverse());
  await keys.press('Space');
  expect(await keys.focused()).toContain('button "Resume"');
  await keys.follow('Tab', [...TIMELINE.slice(1), ...FILTERS.slice(0, 1)]);
  await keys.type('journal');
  await keys.follow('Tab', FILTERS.slice(1));
  await keys.press('ArrowDown');
  await keys.follow('Tab', ['button']);
  expect(await keys.focused()).toContain('resources/updated note://journal');
  expect(await console.messages.count()).toBe(1);
  expect(await keys.press('Enter')).toContain('region "The message as JSON"');
  const dialog = console.page.getByRole('dialog', { name: 'resources/updated' });
  expect(await dialog.isVisible()).toBe(true);
  await keys.follow('Tab', ['text: Raw text', 'button "Copy"', 'button "Close"']);
  expect(await keys.press('Enter')).toContain('resources/updated note://journal');
}

/** From there: reads the resource that the cue names. */
async function readResource(console: ConsolePage, keys: Keyboard): Promise<void> {
  const middle = ['button "Close"', ...TIMELINE.with(0, 'button "Resume"'), ...FILTERS];
  const server = [...RESOURCES.slice(5), ...TOOLS, PROMPTS, ...EVENTS, OPEN];
  await keys.follow('Shift+Tab', [...server, ...middle].reverse());
  expect(await keys.press('Enter')).toContain('button "Read note://journal"');
  const resource = console.page.getByRole('tabpanel', { name: 'Resource' });
  await resource.getByText(/^Read\./).waitFor();
  expect(await resource.getByRole('region', { name: 'Now' }).textContent()).toContain('Written at');
  expect(await keys.focused()).toContain('button "Read note://journal"');
}

const ENDPOINT = 'textbox "MCP endpoint"';
const TOKEN = 'textbox "Token (optional)"';
const CONNECT = 'button "Connect"';
const SIGN_IN = 'button "Sign in"';
const CONNECTION = [ENDPOINT, TOKEN, CONNECT, SIGN_IN];
const RESOURCES = [
  'checkbox "Resources list changes"',
  'button "2 resources, shown"',
  'checkbox "note://todo',
  'button "Read note://todo"',
  'checkbox "note://journal',
  'button "Read note://journal"',
  'textbox "Another URI"',
  'button "Add"',
  'button "1 templates, shown"',
  'button "note://{name}',
];
const TOOLS = [
  'checkbox "Tools list changes"',
  'button "7 tools, shown"',
  'button "edit_note',
  'button "delete_note',
  'button "run_analysis',
  'button "enable_search',
  'button "disable_search',
  'button "connect_database',
  'button "add_prompt',
];
const PROMPTS = 'checkbox "Prompts list changes"';
const EVENTS = [
  'checkbox "Event types list changes"',
  'button "1 event types, shown"',
  'button "note.changed',
];
const OPEN = 'button "Open a subscription"';
const TIMELINE = ['button "Pause"', 'button "Clear"', 'button "Export"'];
const FILTERS = [
  'searchbox "Text in the message"',
  'combobox "Source of the messages"',
  'combobox "Kind of message"',
];
