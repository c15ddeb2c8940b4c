import type { BusStats } from 'mcp-listen/cloudflare';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { openWhilePublishing, whilePublishing } from '../../host/fixture/publishing.ts';
import {
  acknowledged,
  LISTEN_HEADERS,
  listChanged,
  listenBody,
  updated,
  type WireStream,
} from '../../host/listen.ts';

const EDGES = 2;
const fixture = useFixture({}, EDGES);
const FILTER = { toolsListChanged: true, resourceSubscriptions: ['note://a'] };
const TOOLS = { kind: 'tools_list_changed' };
const NOTE = { kind: 'resource_updated', uri: 'note://a' };

test('the streams of an isolate share one socket, and each hears what it wants', async () => {
  const streams = await opened(20);
  expect(await fixture().bus('stats')).toMatchObject({ attached: EDGES, sockets: EDGES });
  const other = await fixture().subscribe(
    0,
    { resourceSubscriptions: ['note://b'] },
    { id: '"b"' },
  );
  expect(await other.message()).toBe(acknowledged('"b"', { resourceSubscriptions: ['note://b'] }));
  expect(await fixture().bus('stats')).toMatchObject({ sockets: EDGES });
  for (const edge of [0, 1]) {
    await fixture().publish(edge, NOTE);
    await fixture().publish(edge, TOOLS);
    for (const stream of streams) {
      expect(await stream.message()).toBe(updated('1', 'note://a'));
      expect(await stream.message()).toBe(listChanged('1', 'tools'));
    }
    await fixture().publish(edge, { kind: 'resource_updated', uri: 'note://b' });
    // Nothing else was written in between.
    expect(await other.message()).toBe(updated('"b"', 'note://b'));
  }
});

test('when the client leaves whose request has the socket, another request opens the next, and nothing is lost', async () => {
  const streams = await opened(8);
  while (streams.length > 2) {
    streams.shift()?.drop();
    await fixture().publish(0, NOTE);
    await fixture().publish(1, TOOLS);
    for (const stream of streams) await both(stream);
  }
  // What remains has signs of life of its own.
  for (const stream of streams) {
    for (let count = 0; count < 3; count += 1) expect(await stream.block()).toMatch(/^:/);
  }
  expect(await fixture().bus('stats')).toMatchObject({ sockets: EDGES });
  expect(await fixture().stats(0)).toMatchObject({ gaps: 0, resyncs: 0 });
});

test('whoever leaves while events come, the others hear the last state of everything', async () => {
  const streams = await opened(12);
  await whilePublishing(
    (turn) => fixture().publish(turn % 2, NOTE),
    async () => {
      while (streams.length > 4) {
        streams.shift()?.drop();
        await streams[0]?.message();
      }
    },
  );
  await fixture().publish(0, TOOLS);
  for (const stream of streams) {
    let message = await stream.message();
    while (message === updated('1', 'note://a')) message = await stream.message();
    expect(message).toBe(listChanged('1', 'tools'));
  }
});

test('after thousands of streams, the request that has the socket still asks the bus for what others open', async () => {
  const [holder] = await opened(1);
  const body = listenBody({ resourceSubscriptions: ['note://'] });
  for (let round = 0; round < 10; round += 1) {
    const { status } = await fixture().request(0, '/age', {
      method: 'POST',
      headers: LISTEN_HEADERS,
      body,
    });
    expect([status, (await fixture().stats(0)).outages]).toEqual([200, 0]);
  }
  await fixture().publish(1, NOTE);
  expect(await holder?.message()).toBe(updated('1', 'note://a'));
});

test('a reset of the bus breaks no stream: what is published right after is heard', async () => {
  const streams = await opened(20);
  for (let round = 0; round < 3; round += 1) {
    await fixture().post(1, '/bus/reset');
    expect(await fixture().publish(round % 2, NOTE)).toBe(200);
    for (const stream of streams) expect(await stream.message()).toBe(updated('1', 'note://a'));
  }
  await fixture().publish(0, TOOLS);
  for (const stream of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
  const stats = await fixture().stats(0);
  expect(stats).toMatchObject({ open: 10, away: 0, resyncs: 0 });
  expect(stats.healed).toBeGreaterThanOrEqual(20);
});

test('a frame that was lost on the socket is missed at the next one, by all', async () => {
  const streams = await opened(4);
  await fixture().post(1, `/bus/mute?frames=${EDGES}`);
  await fixture().publish(1, TOOLS);
  await fixture().publish(1, NOTE);
  for (const stream of streams) {
    const heard = new Set<string | undefined>();
    while (heard.size < 2) heard.add(await stream.message());
    expect([...heard].sort()).toEqual([listChanged('1', 'tools'), updated('1', 'note://a')].sort());
  }
});

test('publishing while streams open loses nothing after the ack, and nothing comes before it', async () => {
  const [last] = await opened(1);
  await openWhilePublishing(fixture(), () => 0);
  last?.drop();
});

test('a large filter of a line outlives the hibernation of the bus as it was adjusted', async () => {
  const names = Array.from({ length: 40 }, (_, place) => `note://${place}/${'x'.repeat(200)}`);
  const streams = await Promise.all(
    names.map((uri) => fixture().subscribe(0, { resourceSubscriptions: [uri] })),
  );
  for (const stream of streams) expect(await stream.message()).toContain('acknowledged');
  expect(await fixture().bus('interests')).toBe(1);
  const wakes = await fixture().bus<number>('wakes');
  await fixture().hibernated();
  for (const [place, uri] of names.entries()) {
    await fixture().publish(1, { kind: 'resource_updated', uri });
    expect(await streams[place]?.message()).toBe(updated('1', uri));
  }
  expect(await fixture().bus<number>('wakes')).toBe(wakes + 1);
});

test('sessions have sockets of their own beside a line', async () => {
  const [stream] = await opened(1);
  const session = await fixture().session(0);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const own = await fixture().open(session, 0);
  await own.event();
  expect(await fixture().bus('stats')).toMatchObject({ sockets: 2 });
  await fixture().publish(1, NOTE);
  expect(await own.event()).toContain('note://a');
  expect(await stream?.message()).toBe(updated('1', 'note://a'));
});

test('a client that goes away before the ack leaves nothing behind', async () => {
  await fixture().post(1, '/bus/delay?ms=1000');
  const opening = fixture().subscribe(0, FILTER);
  await expect.poll(() => fixture().bus<BusStats>('stats')).toMatchObject({ sockets: 1 });
  const second = fixture().subscribe(0, FILTER);
  (await opening).drop();
  await fixture().post(1, '/bus/delay?ms=0');
  expect(await (await second).message()).toBe(acknowledged('1', FILTER));
  await fixture().publish(1, TOOLS);
  expect(await (await second).message()).toBe(listChanged('1', 'tools'));
});

// Closing cannot be undone: what follows would find the isolate closed.
test('close, called in another request of the isolate, drains and ends each stream with the result', async () => {
  const streams = await opened(6);
  const closed = fixture().post(0, '/close');
  const ending = streams.filter((_, place) => place % 2 === 0);
  for (const stream of ending) {
    expect(await stream.message()).toContain('"resultType":"complete"');
    expect(await stream.message()).toBeUndefined();
  }
  expect((await closed).status).toBe(200);
  await expect.poll(() => fixture().bus('stats')).toMatchObject({ sockets: 1 });
});

/** So many streams that are acknowledged, at the isolates in turn. */
async function opened(count: number): Promise<WireStream[]> {
  const streams: WireStream[] = [];
  for (let place = 0; place < count; place += 1) {
    const stream = await fixture().subscribe(place % EDGES, FILTER);
    expect(await stream.message()).toBe(acknowledged('1', FILTER));
    streams.push(stream);
  }
  return streams;
}

/**
 * Both were published; while a socket is replaced, the order of what is made up for is that of the
 * log.
 */
async function both(stream: WireStream): Promise<void> {
  expect(await stream.message()).toBe(updated('1', 'note://a'));
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
}
