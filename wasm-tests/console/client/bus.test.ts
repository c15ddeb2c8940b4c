import { join } from 'node:path';
import { CLOSES, DROPS, EVERY } from '../../../dist/testing/promises.js';
import { root } from '../../../scripts/process/project.mjs';
import type { BusMember } from '../../host/bus/member.ts';
import { type Ask, BusMembers } from '../../host/bus/members.ts';
import { testBus } from '../../host/bus/promises.ts';
import { useChromium } from '../browser.ts';
import { servePages } from './pages.ts';

const browser = useChromium();
// No server is there: pages come from the test. Chromium enables what buses need on localhost only.
const ORIGIN = 'http://localhost:9';

testBus('broadcastChannelBus between two tabs', tabs, [...EVERY, DROPS, CLOSES]);

async function tabs() {
  const members = new BusMembers();
  const context = await browser().newContext();
  await servePages(context, ORIGIN, join(root, 'wasm-tests', 'host', 'bus', 'member.ts'));
  await context.exposeFunction('received', members.received);
  const open = async (): Promise<Ask> => {
    const page = await context.newPage();
    await page.goto(`${ORIGIN}/pages/`);
    await page.waitForFunction(() => 'member' in globalThis);
    return (name, ...args) => page.evaluate(asked, { name, args }) as never;
  };
  return members.rig(await open(), await open(), await open(), () => context.close());
}

/** Runs in the page. */
function asked({ args, name }: { args: unknown[]; name: keyof BusMember }): unknown {
  return (member[name] as (...all: unknown[]) => unknown)(...args);
}
