import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { serveOnNode } from '../../host/node-http.ts';
import { sessionScript } from '../../host/sessions/script.ts';
import { useChromium } from '../browser.ts';
import { serveElsewhere } from '../guarded-server.ts';
import { clientPages, documentedPage } from './pages.ts';

const browser = useChromium();
const PAGES = join(import.meta.dirname, 'pages');

/** A server that responds to all requests once `decide` is called with a status. */
async function hesitating() {
  const decided = Promise.withResolvers<number>();
  let asked = 0;
  const server = await serveOnNode(async () => {
    asked += 1;
    return new Response(null, { status: await decided.promise });
  });
  onTestFinished(() => server.stop());
  return { ...server, decide: decided.resolve, asked: () => asked };
}

test.for([401, 403])(
  'where a %i stops the tab with the stream, the others stop without a request',
  async (status) => {
    const server = await hesitating();
    const open = await clientPages(browser(), server.origin, join(PAGES, 'shared.ts'));
    const tabs = [await open(), await open(), await open()];
    for (const tab of tabs) await tab.locator('#state', { hasText: 'connecting' }).waitFor();
    await expect.poll(server.asked).toBe(1);
    server.decide(status);
    for (const tab of tabs) {
      await tab.locator('#state', { hasText: 'stopped' }).waitFor();
      expect(await tab.locator('#error').textContent()).toBe('refused');
    }
    expect(server.asked()).toBe(1);
  },
);

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

test('the page of the guide without a bundler receives changes', async () => {
  const { origin, server, stop } = await serveElsewhere();
  onTestFinished(stop);
  const log = await documentedPage(browser(), origin);
  await expect.poll(log).toEqual(['tools changed']);
  await server.notify.toolsChanged();
  await expect.poll(log).toEqual(['tools changed', 'tools changed']);
});
