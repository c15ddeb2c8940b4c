import type { ListenStats } from 'mcp-listen';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { acknowledged, listChanged, restOf, type WireStream } from '../../host/listen.ts';

const fixture = useFixture();
const TOOLS = { toolsListChanged: true };
const ack = acknowledged('1', TOOLS);

test('a stream ends at maxConnectionAgeMs without a result, and leaves no socket behind', async () => {
  const options = { maxConnectionAgeMs: 300 };
  const stream = await fixture().subscribeWith(0, options, TOOLS);
  expect(await restOf(stream)).toEqual([ack]);
  await fixture().untilAttached(0);
  expect(await fixture().ask<ListenStats>(0, options, 'stats')).toMatchObject({
    open: 0,
    ended: { rotated: 1 },
  });
});

test('a drain in another request of the isolate ends the streams without a result', async () => {
  const options = {
    server: {
      info: { name: 'drained', version: '1' },
      capabilities: { tools: { listChanged: true } },
    },
  };
  const opening = Array.from({ length: 20 }, () => fixture().subscribeWith(0, options, TOOLS));
  const streams = await Promise.all(opening);
  for (const stream of streams) expect(await stream.message()).toBe(ack);
  await fixture().publish(1, { kind: 'tools_list_changed' });
  const drained = fixture().ask<ListenStats>(0, options, 'drain&windowMs=1000');
  for (const stream of streams) expect(await restOf(stream)).toEqual([listChanged('1', 'tools')]);
  expect(await drained).toMatchObject({ open: 0, ended: { drained: 20, closed: 0 } });
  const { response } = await fixture().subscribeWith(0, options, TOOLS);
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toBe('2');
  await fixture().untilAttached(0);
});

test('a drain with a count ends the oldest streams, and the others receive further events', async () => {
  const options = {
    server: {
      info: { name: 'oldest', version: '1' },
      capabilities: { tools: { listChanged: true } },
    },
  };
  const streams: WireStream[] = [];
  for (let count = 0; count < 3; count += 1)
    streams.push(await fixture().subscribeWith(0, options, TOOLS));
  for (const stream of streams) await stream.message();
  const stats = await fixture().ask<ListenStats>(0, options, 'drain&count=2&windowMs=100');
  expect(stats).toMatchObject({ open: 1, ended: { drained: 2 } });
  await fixture().publish(1, { kind: 'tools_list_changed' });
  expect(await streams[2]?.message()).toBe(listChanged('1', 'tools'));
});

test('the stream of a client that reads nothing for writeMs ends, with its socket', async () => {
  const options = { timeouts: { writeMs: 700 }, limits: { maxRequestBodySize: 1_000_000 } };
  const uris = Array.from({ length: 250 }, (_, place) => `note://${place}/${'x'.repeat(2_000)}`);
  await fixture().subscribeWith(0, options, { resourceSubscriptions: uris });
  const stats = async (): Promise<ListenStats> => {
    const published = uris.map((uri) => fixture().publish(1, { kind: 'resource_updated', uri }));
    expect(new Set(await Promise.all(published))).toEqual(new Set([200]));
    return await fixture().ask(0, options, 'stats');
  };
  await expect
    .poll(stats, { timeout: 60_000, interval: 10 })
    .toMatchObject({ open: 0, ended: { stalled: 1 } });
  await fixture().untilAttached(0);
}, 90_000);
