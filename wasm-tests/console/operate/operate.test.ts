import type { Snapshot } from 'mcp-listen';
import type { BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LegacySession } from '../../host/legacy.ts';
import { LISTEN_HEADERS, listenBody } from '../../host/listen.ts';
import { SECRET } from '../../host/signing.ts';
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
  const log = console.page.getByRole('table', { name: LOG });
  await log.getByText('resource_updated note://3').first().waitFor();
  const topics = console.page.getByRole('table', { name: 'Topics by their number of streams' });
  await topics.getByRole('row', { name: 'tools 40', exact: true }).waitFor();
  expect(await topics.getByText('principal:').count()).toBe(0);
  await console.page.getByRole('checkbox', { name: 'Callers' }).check();
  await topics.getByText('principal:user-1', { exact: true }).waitFor();
});

test('the topology names each continent, and the log the position of each event', async () => {
  const console = await operating();
  await expect.poll(() => shardsOf(console)).toEqual(['AS 1', 'EU 2', 'NA 1']);
  const isolates = await console.rows('Isolates');
  expect(isolates.map(([, , object]) => object)).toEqual(
    Array(4).fill(expect.stringMatching(/^shard \d$/)),
  );
  expect(isolates.reduce((sum, [, streams]) => sum + Number(streams), 0)).toBe(40);
  for (const uri of ['note://last', 'note://latest'])
    await bus.publish({ kind: 'resource_updated', uri });
  const latest = async () => (await console.rows(LOG)).slice(0, 2);
  await expect
    .poll(async () => (await latest()).map(([, , event]) => event))
    .toEqual(['resource_updated note://latest', 'resource_updated note://last']);
  const position = Number(await console.reading('position').textContent());
  expect(position).toBeGreaterThan(1);
  expect(await latest()).toEqual([
    [String(position), expect.stringMatching(TIME), expect.any(String)],
    [String(position - 1), expect.stringMatching(TIME), expect.any(String)],
  ]);
});

test('another log replaces the one before', async () => {
  const withLog = (...positions: number[]) => ({
    log: positions.map((position) => ({ position, at: 0, event: { kind: 'event' } })),
  });
  const console = await watching(withLog(7, 8), withLog(1), withLog(2, 3));
  const positions = async () => (await console.rows(LOG)).map(([position]) => position);
  await expect.poll(positions).toEqual(['3', '2', '1']);
});

test('of more than 200 isolates the first are shown, and the heading says so', async () => {
  const { isolates } = await snapshot();
  const many = Array.from({ length: 201 }, (_, place) => ({
    ...isolates[0],
    isolate: `isolate-${place}`,
  }));
  const headOf = ({ page }: ConsolePage) =>
    page.getByRole('region', { name: 'Topology' }).locator('header').textContent();
  const all = await watching({ isolates: many.slice(1) });
  await expect.poll(() => headOf(all)).toMatch(/ 200 isolates$/);
  const some = await watching({ isolates: many });
  await expect.poll(() => headOf(some)).toMatch(/ 201 isolates, the first 200 shown$/);
  expect(await some.rows('Isolates')).toHaveLength(200);
});

test('the number of sessions is shown', async () => {
  const console = await operating();
  expect(await console.reading('sessions').textContent()).toBe('0');
  const send = (init: RequestInit) => fetch(`${bus.workerd.edges[1]}/mcp`, init);
  const session = await LegacySession.begin(send);
  await expect.poll(() => console.reading('sessions').textContent()).toBe('1');
  await session.end();
  await expect.poll(() => console.reading('sessions').textContent()).toBe('0');
});

test('the charts say what happened, with delays, and ends and refusals by their reason', async () => {
  const console = await operating();
  const charts = console.page.getByRole('img');
  expect(await charts.evaluateAll((all) => all.map(({ ariaLabel }) => ariaLabel))).toEqual(
    CHARTS.map(([title]) => expect.stringMatching(`^${title}: No `)),
  );
  await recordLabels(console.page);
  await bus.open(1);
  await bus.publish({ kind: 'resource_updated', uri: 'note://3' });
  await bus.publish({ kind: 'disconnect', principal: 'user-5' });
  const headers = { ...LISTEN_HEADERS, accept: 'text/html' };
  await fetch(`${bus.workerd.edges[1]}/mcp`, { method: 'POST', headers, body: listenBody({}) });
  const labels = () => console.page.evaluate(() => [...(globalThis as unknown as Labels).labels]);
  for (const [title, values] of CHARTS)
    await expect
      .poll(labels)
      .toContainEqual(expect.stringMatching(new RegExp(`^${title}: ${values}`)));
});

test('a chart shows the values of the second at the pointer, and then the current ones again', async () => {
  const console = await operating();
  const chart = console.page.getByRole('region', { name: 'Per second' });
  const published = () => chart.getByRole('listitem').first().textContent();
  const publishing = bus.publishFor(8, 20);
  await expect.poll(published).not.toBe('published0');
  // The first second has nothing before it, and so no events.
  await chart.locator('.u-over').hover({ position: { x: 3, y: 60 } });
  await expect.poll(published).toBe('published0');
  await console.page.mouse.move(0, 0);
  await expect.poll(published).not.toBe('published0');
  await publishing;
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
  await console.page.getByLabel('URI, task or name').fill('note://todo');
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

test('the wrong token shows nothing and says where the right one is', async () => {
  const console = await operating();
  const [token, hint] = [
    console.page.getByLabel('Operator token'),
    console.page.getByText(/^Enter the operator token, and press Watch/),
  ];
  expect(await hint.isVisible()).toBe(false);
  const right = await token.inputValue();
  await token.fill('of-someone-else');
  await console.page.keyboard.press('Enter');
  await console.page.getByText('Enter the operator token.').waitFor();
  expect(await hint.isVisible()).toBe(true);
  for (const hidden of ['.charts', '.tables', '.readings'])
    expect(await console.page.locator(`#operate ${hidden}`).isVisible()).toBe(false);
  await token.fill(right);
  await console.page.keyboard.press('Enter');
  await console.page.getByText('watching', { exact: true }).waitFor();
  expect(await hint.isVisible()).toBe(false);
  expect(await console.actions.isVisible()).toBe(true);
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

/** The continent of each shard with the number of its isolates. */
async function shardsOf(console: ConsolePage): Promise<string[]> {
  const objects = await console.rows('Bus and shards');
  const shards = objects.filter(([object]) => object?.startsWith('shard'));
  return shards.map(([, continent, , isolates]) => `${continent} ${isolates}`).sort();
}

/** Opens the Operate tab; resolves once it shows a snapshot. */
async function operating(options: BrowserContextOptions = {}): Promise<ConsolePage> {
  const console = await open(bus.console, { reducedMotion: 'reduce', ...options });
  await console.operate();
  return console;
}

/** Opens the Operate tab, which receives these snapshots, each as a change of the current one. */
async function watching(...changes: object[]): Promise<ConsolePage> {
  const console = await open('about:blank');
  const now = await snapshot();
  const events = changes.map((change) => `data: ${JSON.stringify({ ...now, ...change })}\n\n`);
  await console.page.route('**/stats?*', (route) =>
    route.fulfill({ contentType: 'text/event-stream', body: events.join('') }),
  );
  await console.page.goto(bus.console);
  await console.page.getByRole('tab', { name: 'Operate' }).click();
  return console;
}

async function snapshot(): Promise<Snapshot> {
  const headers = { authorization: `Bearer ${SECRET}` };
  const stats = await fetch(`${bus.workerd.edges[0]}/console/stats`, { headers });
  return (await stats.json()) as Snapshot;
}

interface Labels {
  /** Every label that {@link recordLabels} has seen. */
  labels: Set<string | null>;
}

/** Records the labels of the charts from now on: each is replaced after a second. */
function recordLabels(page: ConsolePage['page']): Promise<void> {
  return page.evaluate(() => {
    const labels = new Set<string | null>();
    (globalThis as unknown as Labels).labels = labels;
    const record = (changes: MutationRecord[]) => {
      for (const { oldValue, target } of changes)
        labels.add(oldValue).add((target as Element).ariaLabel);
    };
    const changes = { subtree: true, attributeFilter: ['aria-label'], attributeOldValue: true };
    new MutationObserver(record).observe(document.body, changes);
  });
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

const LOG = 'The last events, newest first';
const TIME = /^\d\d:\d\d:\d\d\.\d{3}$/;
/** The title of each chart, and what it says of one of the seconds of the test. */
const CHARTS = [
  ['Per second', 'published [1-9]'],
  ['Cues', 'written [1-9].*, collapsed 0$'],
  ['Publish to write', String.raw`p50 [\d.]+ m?s, p95 [\d.]+ m?s, p99 [\d.]+ m?s$`],
  // What others publish is not measured.
  ['Publish to arrival', 'No cue of a publish arrived here'],
  ['Time to acknowledge', String.raw`p50 [\d.]+ m?s, p95 [\d.]+ m?s, p99 [\d.]+ m?s$`],
  ['Streams ended', 'denied 1$'],
  ['Requests refused', 'http 1$'],
] as const;
