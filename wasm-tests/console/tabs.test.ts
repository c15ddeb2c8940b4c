import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { sessionScript } from '../host/session-script.ts';
import { useChromium } from './browser.ts';
import { clientPages } from './client-pages.ts';

const browser = useChromium();
const PAGES = join(import.meta.dirname, 'pages');

test('a session that a page leaves is ended once', async () => {
  const server = await sessionScript({ stream: (turn) => turn.begin() });
  onTestFinished(() => server.stop());
  const open = await clientPages(browser(), new URL(server.url).origin, join(PAGES, 'sessions.ts'));
  const page = await open();
  await page.locator('#left', { hasText: /^10$/ }).waitFor();
  const ended = () => server.seen.filter((request) => request === 'DELETE').length;
  await expect.poll(ended).toBeGreaterThanOrEqual(10);
  expect(ended()).toBe(10);
});
