import { beforeEach, describe, expect, test } from 'vitest';
import type { ConsolePage } from './console-page.ts';
import { useConnectedConsole } from './notebook.ts';

const open = useConnectedConsole();
let console: ConsolePage;

beforeEach(async () => {
  console = await open();
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
    const plot = console.page.getByRole('img', { name: /^10 arrivals, p50 .*, p95 .*, p99 / });
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
});
