import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { listChanged } from '../../host/listen.ts';

const fixture = useFixture({ EDGES_PER_SHARD: '1' });
const TOOLS = { toolsListChanged: true };

test('written counts the delay of a notification from another isolate, at the bus and at shards', async () => {
  for (const opened of [1, 2, 3, 4]) {
    // The stream of another isolate makes the bus open shards.
    if (opened === 3) await (await fixture().subscribe(1, TOOLS)).message();
    const stream = await fixture().subscribe(0, TOOLS);
    await stream.message();
    await fixture().publish(1, { kind: 'tools_list_changed' });
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    const { events, notifications, written } = await fixture().stats(0);
    const timed = written.reduce((sum, { count }) => sum + count, 0);
    expect(opened).toBeLessThanOrEqual(timed);
    expect(timed).toBeLessThanOrEqual(notifications);
    expect(notifications).toBeLessThanOrEqual(events);
    // JSON has no Infinity.
    expect(written.at(-1)).toEqual({ le: null, count: 0 });
  }
  const { shards } = await fixture().bus<{ shards: unknown[] }>('stats');
  expect(shards.length).toBeGreaterThan(0);
});
