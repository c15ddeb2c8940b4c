import { expect, test } from 'vitest';
import { useBrowser } from '../browser.ts';
import { Keyboard } from '../keyboard.ts';
import { useNotebook } from '../notebook.ts';

const open = useBrowser();
const notebook = useNotebook();

test('Operate is used by keyboard alone, and the focus is visible at each stop', async () => {
  const console = await open(notebook());
  await console.connected();
  const keys = new Keyboard(console.page);
  await keys.follow('Tab', ['link "Skip to the content"', 'tab "Inspect"']);
  await keys.follow('ArrowRight', ['tab "Operate"']);
  await console.page.getByText('watching', { exact: true }).waitFor();
  const stops = [...TOP, ...TOPOLOGY, ...LISTENERS, ...LOG, ...ORDERS];
  await keys.follow('Tab', stops.slice(0, stops.indexOf('checkbox "Callers"') + 1));
  await keys.press('Space');
  expect(await console.page.getByRole('checkbox', { name: 'Callers' }).isChecked()).toBe(true);
  await keys.follow('Tab', stops.slice(stops.indexOf('checkbox "Callers"') + 1));
  await keys.follow('Shift+Tab', ORDERS.slice(ORDERS.indexOf(PUBLISH), -1).reverse());
  expect(await keys.press('Enter')).toContain('button "Cancel"');
  await keys.follow('Tab', ['button "Publish"']);
  expect(await keys.press('Enter')).toContain(PUBLISH);
  await console.actions.getByText(/^Published at position \d/).waitFor();
  await keys.follow('Shift+Tab', stops.slice(0, stops.indexOf(PUBLISH)).reverse());
  expect(await keys.press('Shift+Tab')).toContain('tab "Operate"');
});

test('an action that is not confirmed gives the focus back to its button', async () => {
  const console = await open(notebook());
  await console.connected();
  await console.operate();
  const keys = new Keyboard(console.page);
  await console.button('Drain all').focus();
  for (const [key, button] of [
    ['Escape', 'Drain all'],
    ['Enter', 'Drain all'],
  ] as const) {
    expect(await keys.press('Enter')).toContain('button "Cancel"');
    expect(await keys.press(key)).toContain(`button "${button}"`);
  }
  expect(await console.reading('ended').textContent()).toBe('0');
});

const PUBLISH = 'button "Publish"';
const TOP = ['radio "Auto"', 'textbox "Operator token"', 'button "Watch"'];
const TOPOLOGY = [
  'region "Bus, shards and isolates"',
  'button "End half of isolate',
  'button "Drain isolate',
];
const LISTENERS = ['checkbox "Callers"', 'region "Topics by their number of streams"'];
const LOG = ['region "The last events, newest first"'];
const ORDERS = [
  ...['combobox "Event"', 'combobox "URI, task or name"', 'textbox "Only for the group"', PUBLISH],
  ...['textbox "Principal"', 'button "Disconnect"'],
  ...['spinbutton "Streams of each isolate"', 'button "End the oldest streams"'],
  'button "Drain all"',
];
