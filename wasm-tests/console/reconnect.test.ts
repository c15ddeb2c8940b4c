import { afterAll, expect, test, vi } from 'vitest';
import type { Workerd } from '../../scripts/workerd/workerd.mjs';
import { lastingPort } from '../host/port.ts';
import { consoleOf, startNotebook } from '../host/servers/notebook.ts';
import { useBrowser } from './browser.ts';
import { observeShifts, shiftsOf } from './shifts.ts';

// A Worker starts twice, and up to 16 s pass before the last attempt.
vi.setConfig({ testTimeout: 120_000 });

const running: Workerd[] = [];
afterAll(() => Promise.all(running.map((workerd) => workerd.stop())));
const open = useBrowser();

test('a subscription whose Worker is killed waits, and is live again after a restart', async () => {
  const port = await lastingPort();
  const first = await start(port);
  const console = await open(consoleOf(`http://127.0.0.1:${port}`));
  await console.connected();
  const card = await console.subscribe('A');
  const former = await card.locator('.id').textContent();
  await console.page.evaluate(observeShifts);
  await first.kill();
  await card.getByText(/^(waiting|connecting)$/).waitFor();
  expect(await card.locator('.error').textContent()).toMatch(/disconnected|refused/);
  await start(port);
  await card.getByText('live', { exact: true }).waitFor({ timeout: 40_000 });
  expect(Number(await console.figure('A', 'Reconnects').textContent())).toBeGreaterThanOrEqual(1);
  expect(await card.locator('.error').isVisible()).toBe(false);
  expect(await shiftsOf(console.page)).toEqual([]);
  expect(await console.figure('A', 'Ends').textContent()).toBe('disconnected 1');
  expect(await card.locator('.id').textContent()).not.toBe(former);
  await console.publish('note://todo');
  await expect.poll(() => console.figure('A', 'Last cue').textContent()).toBe('note://todo');
  await expect.poll(() => console.streams()).toBe(1);
  const unexpected = console.errors.splice(0).filter((error) => !/net::ERR_/.test(error));
  expect(unexpected).toEqual([]);
});

async function start(port: number): Promise<Workerd> {
  const workerd = await startNotebook(port);
  running.push(workerd);
  return workerd;
}
