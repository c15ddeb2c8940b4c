import type { BrowserContextOptions } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { useBrowser } from './browser.ts';
import type { ConsolePage } from './console-page.ts';
import { useNotebook } from './notebook.ts';
import { observeShifts, shiftsOf } from './shifts.ts';
import { violations } from './violations.ts';

const open = useBrowser();
const notebook = useNotebook();

describe('the colors', () => {
  test('follow the system until the switch is set', async () => {
    const console = await open(notebook(), { colorScheme: 'dark' });
    await expect.poll(() => isDark(console)).toBe(true);
    await console.page.emulateMedia({ colorScheme: 'light' });
    await expect.poll(() => isDark(console)).toBe(false);
    await console.page.getByRole('radio', { name: 'Dark' }).check();
    await expect.poll(() => isDark(console)).toBe(true);
    await console.page.reload();
    await expect.poll(() => isDark(console)).toBe(true);
    await console.page.getByRole('radio', { name: 'Auto' }).check();
    await expect.poll(() => isDark(console)).toBe(false);
  });
});

test('nothing overflows at the side, at any width of the window', async () => {
  const console = await busy({});
  for (const width of [360, 390, 620, 759, 760, 1024, 1239, 1240, 1440, 1600, 2560]) {
    await console.page.setViewportSize({ width, height: 844 });
    expect([width, await overflowing(console)]).toEqual([width, []]);
  }
});

test.for([390, 900, 1280])(
  'at %i pixels an error of the connection moves nothing',
  async (width) => {
    const console = await open(notebook(), { viewport: { width, height: 900 } });
    await console.connected();
    await console.page.evaluate(observeShifts);
    await console.connection.evaluate((state: HTMLElement) => {
      state.dataset['state'] = 'stopped';
      state.textContent = 'The endpoint cannot be reached: nothing responds at this URL.';
    });
    // Two frames later it is painted.
    await console.page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
    expect(await shiftsOf(console.page)).toEqual([]);
  },
);

test('axe finds no violations, in light and dark, on wide and narrow screens', async () => {
  const console = await busy({ bypassCSP: true });
  for (const colorScheme of ['light', 'dark'] as const) {
    await console.page.emulateMedia({ colorScheme });
    for (const width of [390, 2560]) {
      await console.page.setViewportSize({ width, height: 900 });
      expect(await violations(console)).toEqual([]);
    }
  }
  for (const form of ['Tool', 'Prompt', 'Event', 'Request', 'Resource']) await console.form(form);
  await console.page.getByRole('region', { name: 'Last state' }).waitFor();
  await console.messages.first().click();
  expect(await violations(console)).toEqual([]);
});

test('every empty state says what to do next', async () => {
  const console = await open('about:blank');
  await console.page.route('**/mcp', (route) => route.abort());
  await console.page.goto(notebook());
  await console.connection.getByText(/^The endpoint cannot be reached/).waitFor();
  const empty = console.page.locator('.empty');
  const inspect = await empty.allTextContents();
  expect(inspect).toHaveLength(5);
  await console.page.getByText('Connect to a server first.').waitFor();
  await console.page.getByLabel('Text in the message').fill('no such text');
  await console.operate();
  const all = await empty.allTextContents();
  expect(all).toHaveLength(5 + 10);
  expect(all).toContainEqual(expect.stringMatching(/^No message matches the filter\./));
  const verbs = 'Call|Change|Close|Connect|Enter|Keep|Open|Publish|Select';
  for (const text of [...inspect, ...all])
    expect(text).toMatch(new RegExp(`(?:^|\\. )(?:${verbs})\\b`));
  const refused = console.errors.splice(0).filter((error) => !error.includes('ERR_FAILED'));
  expect(refused).toEqual([]);
});

test('arrow keys change tabs, and a link skips to the content', async () => {
  const console = await open(notebook());
  await console.page.keyboard.press('Tab');
  await console.page.keyboard.press('Enter');
  expect(await console.page.evaluate(() => document.activeElement?.id)).toBe('main');
  await console.page.getByRole('tab', { name: 'Tool', exact: true }).focus();
  await console.page.keyboard.press('ArrowRight');
  expect(await console.page.getByRole('tabpanel', { name: 'Resource' }).isVisible()).toBe(true);
  expect(await console.page.evaluate(() => document.activeElement?.id)).toBe('tab-resource');
});

/** A page with all its elements in use. */
async function busy(options: BrowserContextOptions): Promise<ConsolePage> {
  const console = await open(notebook(), { reducedMotion: 'reduce', ...options });
  await console.connected();
  await console.subscribe('A');
  await console.subscribe('B');
  await console.button('Read note://todo').click();
  await console.page.getByText(/^Read\./).waitFor();
  await console.form('Tool');
  await console.callTool('edit_note');
  await console.publish('note://todo', 2);
  await expect.poll(() => console.dots.count()).toBeGreaterThanOrEqual(4);
  return console;
}

/** The elements that overflow the window, or make the page wider than it. */
function overflowing(console: ConsolePage): Promise<string[]> {
  return console.page.evaluate(() => {
    const { clientWidth, scrollWidth } = document.documentElement;
    const boxes = [...document.querySelectorAll('body *')].filter(
      (box) => !box.closest('.messages, pre, .visually-hidden, .skip'),
    );
    const out = boxes.filter((box) => box.getBoundingClientRect().right > clientWidth + 0.5);
    return [
      ...(scrollWidth > clientWidth ? ['the page'] : []),
      ...out.map((box) => box.outerHTML.slice(0, 80)),
    ];
  });
}

function isDark(console: ConsolePage): Promise<boolean> {
  return console.page.evaluate(() => {
    const [red = 255] =
      getComputedStyle(document.body).backgroundColor.match(/\d+/g)?.map(Number) ?? [];
    return red < 128;
  });
}
