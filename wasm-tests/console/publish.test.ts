import { beforeEach, describe, expect, test } from 'vitest';
import { SECRET } from '../host/signing.ts';
import { useBrowser } from './browser.ts';
import type { ConsolePage } from './console-page.ts';
import { useNotebook } from './notebook.ts';

const open = useBrowser();
const notebook = useNotebook();
let console: ConsolePage;

beforeEach(async () => {
  console = await open(notebook());
  await console.connected();
});

describe('publishing', () => {
  test('accepts the secret of npm start, and no other', async () => {
    const secret = console.page.getByLabel('Publish secret');
    const own = await secret.inputValue();
    expect(own).not.toBe('');
    await console.page.getByRole('tab', { name: 'Publish', exact: true }).click();
    await secret.fill('simsim');
    expect(await console.publish('note://todo')).toBe('The secret is missing or wrong (401).');
    expect(console.errors.splice(0).filter((error) => !error.includes('401'))).toEqual([]);
    await secret.fill(own);
    expect(await console.publish('note://todo')).toMatch(/^Published at position [\d,]+\.$/);
  });

  test('reaches all subscriptions, and each arrival is a separate dot', async () => {
    await console.subscribe('A');
    await console.subscribe('B');
    await console.publish('note://todo', 5);
    await expect.poll(() => console.dots.count()).toBe(10);
    const plot = console.page.getByRole('img', { name: /^10 arrivals, median .*, slowest / });
    expect(await plot.isVisible()).toBe(true);
    expect(await console.dots.first().getAttribute('data-series')).not.toBe(
      await console.dots.nth(1).getAttribute('data-series'),
    );
    expect(
      await console.page
        .getByRole('list', { name: 'Median of each subscription' })
        .getByRole('listitem')
        .count(),
    ).toBe(2);
  });

  test('updates the numbers of the bus', async () => {
    await console.subscribe('A');
    await expect
      .poll(async () => Number(await console.number('streams').textContent()))
      .toBeGreaterThanOrEqual(1);
    const before = await events();
    await console.publish('note://todo', 40, 'one batch');
    await expect.poll(events).toBe(before + 40);
    expect(await console.number('resyncs').textContent()).toBe('0');
  });
});

test('where only publishers see the numbers, the page says so until it has the secret', async () => {
  const { page } = console;
  await page.route('**/stats', (route) =>
    route.request().headers()['authorization'] === `Bearer ${SECRET}`
      ? route.continue()
      : route.fulfill({ status: 401 }),
  );
  const secret = page.getByLabel('Publish secret');
  await page.getByRole('tab', { name: 'Publish', exact: true }).click();
  await secret.fill('');
  await page.getByText('Statistics require the publish secret').waitFor();
  expect(await console.number('events').textContent()).toBe('–');
  await secret.fill(SECRET);
  await expect.poll(() => console.number('events').textContent()).toMatch(/^[\d,]+$/);
  expect(console.errors.splice(0).filter((error) => !error.includes('401'))).toEqual([]);
});

async function events(): Promise<number> {
  return Number((await console.number('events').textContent())?.replaceAll(',', ''));
}
