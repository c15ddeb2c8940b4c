import { afterAll, beforeAll, expect, test } from 'vitest';
import { LISTEN_HEADERS, listenBody } from '../../host/listen.ts';
import { BEARER } from '../../host/signing.ts';
import { useBrowser } from '../browser.ts';
import type { ConsolePage } from '../console-page.ts';
import { BusyBus } from './bus.ts';

const open = useBrowser();
let bus: BusyBus;

beforeAll(async () => {
  bus = await BusyBus.start();
  await bus.open(16);
});
afterAll(() => bus?.stop());

// The page spreads the ends of streams over 30 seconds.
const DRAINS = { timeout: 120_000 };
const ENDED = { timeout: 45_000 };

test('the oldest streams, half of an isolate and a whole isolate are ended', DRAINS, async () => {
  const console = await operating();
  const [half = '', whole = ''] = await Promise.all([1, 2].map(isolateAt));
  await console.button(`Drain isolate ${whole}`).click();
  expect(await console.confirm(`Drain isolate ${whole}?`, 'Drain')).toBe(
    'Ends 4 streams over 30 seconds. The isolate opens no more until it restarts.',
  );
  await console.actions.getByText('Begun in 1 isolate.').waitFor();
  await console.button(`End half of isolate ${half}`).click();
  expect(await console.confirm(`End half of isolate ${half}?`, 'End half')).toMatch(
    /^Ends the [12] oldest streams? over 30 seconds\./,
  );
  await console.actions.getByLabel('Streams of each isolate').fill('1');
  await console.button('End the oldest streams').click();
  expect(await console.confirm('End the oldest streams?', 'End streams')).toBe(
    'Ends the 1 oldest stream of every isolate over 30 seconds.',
  );
  await console.actions.getByText(/^Begun in [34] isolates\.$/).waitFor();
  // The oldest stream of the isolate whose older half ends may be one of that half.
  await expect.poll(() => openStreams(console), ENDED).toMatch(/^3, [12], 0, 3$/);
  expect(await Promise.all([0, 1, 2, 3].map(statusOf))).toEqual([200, 200, 503, 200]);
});

test(
  'a drain of all ends every stream, and no isolate that held one opens another',
  DRAINS,
  async () => {
    const console = await operating();
    await console.button('Drain all').click();
    expect(await console.confirm('Drain all?', 'Drain all')).toMatch(
      /^Ends every stream over 30 seconds\. Isolates that hold streams, .* open no more until/,
    );
    await console.actions.getByText(/^Begun in [34] isolates\.$/).waitFor();
    await expect.poll(() => console.reading('streams').textContent(), ENDED).toBe('0');
    expect(await Promise.all([0, 1, 2, 3].map(statusOf))).toEqual([503, 503, 503, 503]);
  },
);

async function operating(): Promise<ConsolePage> {
  const console = await open(bus.console);
  await console.operate();
  return console;
}

/** The beginning of the id of an isolate, as the page shows it. */
async function isolateAt(edge: number): Promise<string> {
  const response = await fetch(`${bus.workerd.edges[edge]}/console/stats`, { headers: BEARER });
  return ((await response.json()) as { isolate: string }).isolate.slice(0, 8);
}

/** The number of streams that the page shows for each isolate; 0 for one that it does not show. */
async function openStreams(console: ConsolePage): Promise<string> {
  const streams = new Map((await console.rows('Isolates')).map(([name, open]) => [name, open]));
  const names = await Promise.all([0, 1, 2, 3].map(isolateAt));
  return names.map((name) => streams.get(name) ?? '0').join(', ');
}

/** The status of a listen request, whose stream is dropped. */
async function statusOf(edge: number): Promise<number> {
  const abort = new AbortController();
  const init = { method: 'POST', headers: LISTEN_HEADERS, signal: abort.signal };
  const body = listenBody({ toolsListChanged: true });
  const { status } = await fetch(`${bus.workerd.edges[edge]}/mcp`, { ...init, body });
  abort.abort();
  return status;
}
