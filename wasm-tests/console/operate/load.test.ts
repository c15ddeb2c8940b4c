import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Snapshot } from 'mcp-listen';
import type { CDPSession } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { operateResult } from '../../../scripts/checks/results.mjs';
import { SECRET } from '../../host/signing.ts';
import { useBrowser } from '../browser.ts';
import type { ConsolePage } from '../console-page.ts';
import { BusyBus, TOPICS } from './bus.ts';

/** `npm run bench:operate` has 1,000 streams and a minute. */
const STREAMS = Number(process.env['OPERATE_STREAMS'] ?? 200);
const SECONDS = Number(process.env['OPERATE_SECONDS'] ?? 6);
const PER_SECOND = 50;

const open = useBrowser();
let bus: BusyBus;

beforeAll(async () => {
  bus = await BusyBus.start();
});
afterAll(() => bus?.stop());

test(
  'under load the page counts and receives every event of three shards and four isolates, in bounded memory',
  async () => {
    const console = await open(bus.console, { extraHTTPHeaders: { 'x-continent': 'EU' } });
    await console.connected();
    for (let topic = 0; topic < TOPICS; topic += 1) {
      await console.page.getByLabel('Another URI').fill(`note://${topic}`);
      await console.button('Add').click();
    }
    await bus.open(STREAMS);
    await console.subscribe('A');
    await console.operate();
    await expect.poll(() => read(console, 'streams')).toBe(STREAMS + 1);
    await expect.poll(() => read(console, 'shards')).toBe(3);
    const heap = await console.page.context().newCDPSession(console.page);
    const published = await bus.publishFor(SECONDS / 2, PER_SECOND);
    const before = await used(heap);
    const all = published + (await bus.publishFor(SECONDS / 2, PER_SECOND));
    await expect.poll(() => read(console, 'position')).toBe(all);
    const { isolates } = await snapshot();
    const events = isolates.reduce((sum, { streams }) => sum + streams.events, 0);
    const counted = async () =>
      (await read(console, 'written')) + (await read(console, 'collapsed'));
    await expect.poll(counted).toBe(events);
    expect(events).toBeGreaterThan(all);
    expect({ isolates: isolates.length, missed: await read(console, 'missed') }).toEqual({
      isolates: 4,
      missed: 0,
    });
    const growth = (await used(heap)) - before;
    expect(growth).toBeLessThan(MAX_GROWTH);
    const collapsed = await read(console, 'collapsed');
    const written = await read(console, 'written');
    const received = await expectMessages(console, written);
    expect(received).toBeLessThanOrEqual(all);
    await mkdir(dirname(operateResult), { recursive: true });
    const result = {
      events: all,
      streams: STREAMS,
      growth: Math.max(0, Math.round(growth / 1_000)),
      received,
      collapsed,
    };
    await writeFile(operateResult, JSON.stringify(result));
  },
  120_000 + SECONDS * 2_000,
);

/**
 * Expects each cue that was `written` to a stream at its reader: what no other stream received came
 * to the subscription of the page, is counted on its card, and has a line in the timeline. Cues
 * that wait for a slow reader may collapse, and are not written. Resolves with the number of cues
 * at the page.
 */
async function expectMessages(console: ConsolePage, written: number): Promise<number> {
  const messages = async () => numberIn(await console.figure('A', 'Messages').textContent());
  await console.page.getByRole('tab', { name: 'Inspect' }).click();
  await expect.poll(async () => (await messages()) + bus.received).toBe(OPENING + written);
  const ofPage = await messages();
  await console.page.getByLabel('Source of the messages').selectOption('A');
  const lines = async () =>
    numberIn(await console.page.locator('#timeline-count').textContent()) - REQUESTS;
  await expect.poll(lines).toBe(ofPage);
  return ofPage - OPENING;
}

async function read(console: ConsolePage, reading: string): Promise<number> {
  return numberIn(await console.reading(reading).textContent());
}

/** The number at the beginning of a text of the page. */
function numberIn(text: string | null): number {
  return Number(text?.split(' ')[0]?.replaceAll(',', ''));
}

/** The bytes of the page's heap after a collection. */
async function used(heap: CDPSession): Promise<number> {
  await heap.send('HeapProfiler.collectGarbage');
  const { usedSize } = await heap.send('Runtime.getHeapUsage');
  return usedSize;
}

async function snapshot(): Promise<Snapshot> {
  const headers = { authorization: `Bearer ${SECRET}` };
  return (await (
    await fetch(`${bus.workerd.edges[2]}/console/stats`, { headers })
  ).json()) as Snapshot;
}

/** The result of `server/discover`, which the client of a subscription sends first, and the ack. */
const OPENING = 2;
/** That request and the listen, which are in the timeline too. */
const REQUESTS = 2;
const MAX_GROWTH = 4_000_000;
