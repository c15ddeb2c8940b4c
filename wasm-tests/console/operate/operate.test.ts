import type { BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useBrowser } from '../browser.ts';
import type { ConsolePage } from '../console-page.ts';
import { observeShifts, shiftsOf } from '../shifts.ts';
import { violations } from '../violations.ts';
import { BusyBus } from './bus.ts';

const open = useBrowser();
let bus: BusyBus;

beforeAll(async () => {
  bus = await BusyBus.start();
  await bus.open(40);
});
afterAll(() => bus?.stop());

test('every shard, isolate, topic and event of the log is shown, and callers when asked', async () => {
  const console = await operating();
  await expect.poll(() => console.reading('shards').textContent()).toBe('3');
  expect(await console.reading('isolates').textContent()).toBe('4');
  expect(await console.reading('streams').textContent()).toBe('40');
  await bus.publish({ kind: 'resource_updated', uri: 'note://3' });
  const log = console.page.getByRole('table', { name: 'The last events, newest first' });
  await log.getByText('resource_updated note://3').first().waitFor();
  const topics = console.page.getByRole('table', { name: 'Topics by their number of streams' });
  await topics.getByRole('row', { name: 'tools 40', exact: true }).waitFor();
  expect(await topics.getByText('principal:').count()).toBe(0);
  await console.page.getByRole('checkbox', { name: 'Callers' }).check();
  await topics.getByText('principal:user-1', { exact: true }).waitFor();
});

test('orders are confirmed and sent by keyboard alone', async () => {
  const console = await operating();
  const { keyboard } = console.page;
  const streams = Number(await console.reading('streams').textContent());
  const endHalf = console.page.getByRole('button', { name: /^End half of isolate/ }).first();
  await endHalf.focus();
  await keyboard.press('Enter');
  const dialog = console.page.getByRole('dialog', { name: /^End half of isolate/ });
  await dialog.waitFor();
  await keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  await console.page.getByLabel('URI, task or name').focus();
  await keyboard.press('Enter');
  await console.page.getByRole('dialog', { name: 'Publish an event?' }).waitFor();
  await keyboard.press('Tab');
  await keyboard.press('Enter');
  await console.page.getByText(/^Published at position \d/).waitFor();
  await console.page.getByLabel('Principal').fill('user-1');
  await keyboard.press('Enter');
  await console.page.getByRole('dialog', { name: 'Disconnect a caller?' }).waitFor();
  await keyboard.press('Tab');
  await keyboard.press('Enter');
  await expect.poll(() => console.reading('ended').textContent()).not.toBe('0');
  await expect
    .poll(async () => Number(await console.reading('streams').textContent()))
    .toBe(streams - 1);
});

test('the wrong token shows nothing and asks for another', async () => {
  const console = await operating();
  await console.page.getByLabel('Operator token').fill('of-someone-else');
  await console.page.keyboard.press('Enter');
  await console.page.getByText('Enter the operator token.').waitFor();
  console.errors.length = 0;
});

test('axe finds no violations and nothing overflows, in light and dark, at every width', async () => {
  const console = await operating({ bypassCSP: true });
  for (const colorScheme of ['light', 'dark'] as const) {
    await console.page.emulateMedia({ colorScheme });
    for (const width of [390, 760, 1240, 2_560]) {
      await console.page.setViewportSize({ width, height: 900 });
      expect([width, await overflowing(console)]).toEqual([width, 0]);
      if (width !== 760) expect(await violations(console)).toEqual([]);
    }
  }
  await console.page.getByRole('button', { name: 'Drain all' }).click();
  expect(await violations(console)).toEqual([]);
});

test('nothing moves while numbers arrive, and another tab reads nothing', async () => {
  const console = await operating();
  await console.page.evaluate(observeShifts);
  await bus.publishFor(3, 20);
  await expect.poll(() => console.reading('missed').textContent()).toBe('0');
  expect(await shiftsOf(console.page)).toEqual([]);
  await console.page.getByRole('tab', { name: 'Inspect' }).click();
  const position = await console.reading('position').textContent();
  await bus.publishFor(2, 10);
  expect(await console.reading('position').textContent()).toBe(position);
});

/** Opens the Operate tab; resolves once it shows a snapshot. */
async function operating(options: BrowserContextOptions = {}): Promise<ConsolePage> {
  const console = await open(bus.console, { reducedMotion: 'reduce', ...options });
  await console.operate();
  return console;
}

/** The number of elements that overflow the window. */
function overflowing(console: ConsolePage): Promise<number> {
  return console.page.evaluate(() => {
    const { clientWidth } = document.documentElement;
    const boxes = [...document.querySelectorAll('#operate *')];
    return boxes.filter(
      (box) =>
        !box.closest('.scrolls, .canvas, .legend, .visually-hidden') &&
        box.getBoundingClientRect().right > clientWidth + 0.5,
    ).length;
  });
}
