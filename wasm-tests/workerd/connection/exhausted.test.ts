import type { BusStats } from 'mcp-listen/cloudflare';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { listChanged, type WireStream } from '../../host/listen.ts';

/** Writes that a request may do for other requests. */
const WRITES = 40;
const fixture = useFixture({ WRITES: String(WRITES), END_INTERVAL_MS: '100' });
const FILTER = { toolsListChanged: true };
const TOOLS = { kind: 'tools_list_changed' };

test('requests hand the socket over until all are spent; then the oldest streams end, a few at a time', async () => {
  const streams = await open(4);
  // Each request writes up to its budget. The last one continues as long as no other can take over.
  expect(await publishTo(streams, WRITES - 2)).toBe(4 * (WRITES - 2));
  expect(await fixture().stats(0)).toMatchObject({ open: 4, ended: { exhausted: 0 } });
  const received = await publishTo(streams, 4);
  await expect.poll(async () => (await fixture().stats(0)).ended.exhausted).toBeGreaterThan(0);
  const { exhausted } = (await fixture().stats(0)).ended;
  expect(received).toBeGreaterThanOrEqual(4 * (4 - exhausted));
  const fresh = await open(1);
  expect(await publishTo(fresh, 1)).toBe(1);
  await expect.poll(() => fixture().bus<BusStats>('stats')).toMatchObject({ sockets: 1 });
  const { ended, open: left } = await fixture().stats(0);
  expect(ended.exhausted + left).toBe(5);
  expect(ended.aborted).toBe(0);
  for (const stream of [...streams, ...fresh]) stream.drop();
});

test('a stream that shares with no other outlives its budget', async () => {
  const streams = await open(1);
  expect(await publishTo(streams, 2 * WRITES)).toBe(2 * WRITES);
  expect(await fixture().stats(0)).toMatchObject({ open: 1 });
});

async function open(count: number): Promise<WireStream[]> {
  const streams = [];
  for (let place = 0; place < count; place += 1) streams.push(await fixture().open(0, FILTER));
  return streams;
}

/**
 * Publishes changes one after the other, and reads each from all streams; returns how many messages
 * they had. A stream that has ended has none.
 */
async function publishTo(streams: WireStream[], changes: number): Promise<number> {
  let received = 0;
  for (let change = 0; change < changes; change += 1) {
    await fixture().publish(1, TOOLS);
    for (const stream of streams) {
      const message = await stream.message();
      if (message === undefined) continue;
      expect(message).toBe(listChanged('1', 'tools'));
      received += 1;
    }
  }
  return received;
}
