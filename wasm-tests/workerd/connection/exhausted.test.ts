import type { BusStats } from 'mcp-listen/cloudflare';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { acknowledged, listChanged, type WireStream } from '../../host/listen.ts';

/** Writes that a request may do for others. */
const WRITES = 40;
const fixture = useFixture({ WRITES: String(WRITES), SHED_MS: '100' });
const FILTER = { toolsListChanged: true };
const TOOLS = { kind: 'tools_list_changed' };

test('requests hand the socket on while one is fresh; then the oldest streams end, a few at a time', async () => {
  const streams = await opened(4);
  // Each request writes up to its budget, and the last one goes on while there is no other.
  await heardBy(streams, WRITES - 2);
  expect(await fixture().stats(0)).toMatchObject({ open: 4, ended: { exhausted: 0 } });
  await heardBy(streams, 4);
  await expect.poll(async () => (await fixture().stats(0)).ended.exhausted).toBeGreaterThan(0);
  const fresh = await opened(1);
  await heardBy(fresh, 1);
  await expect.poll(() => fixture().bus<BusStats>('stats')).toMatchObject({ sockets: 1 });
  const { ended, open } = await fixture().stats(0);
  expect(ended.exhausted + open).toBe(5);
  expect(ended.aborted).toBe(0);
  for (const stream of [...streams, ...fresh]) stream.drop();
});

test('a stream that is alone outlives its budget', async () => {
  const streams = await opened(1);
  await heardBy(streams, 2 * WRITES);
  expect(await fixture().stats(0)).toMatchObject({ open: 1 });
});

async function opened(count: number): Promise<WireStream[]> {
  const streams = [];
  for (let place = 0; place < count; place += 1) {
    const stream = await fixture().subscribe(0, FILTER);
    expect(await stream.message()).toBe(acknowledged('1', FILTER));
    streams.push(stream);
  }
  return streams;
}

/** So many changes, one after the other, reach all of these streams. */
async function heardBy(streams: WireStream[], changes: number): Promise<void> {
  for (let change = 0; change < changes; change += 1) {
    await fixture().publish(1, TOOLS);
    for (const stream of streams) {
      const message = await stream.message();
      // Streams may be ending.
      if (message !== undefined) expect(message).toBe(listChanged('1', 'tools'));
    }
  }
}
