import type { BusStats } from 'mcp-listen/cloudflare';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { openWhilePublishing, whilePublishing } from '../../host/fixture/publishing.ts';
import {
  acknowledged,
  distinctMessages,
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

test('the streams of an isolate share one socket, and each receives its own topics', async () => {
  const streams = await open(20);
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
    // The other stream has received nothing in between.
    expect(await other.message()).toBe(updated('"b"', 'note://b'));
  }
});

test('when the client of the owner leaves, another request opens a socket, without loss', async () => {
  const streams = await open(8);
  while (streams.length > 2) {
    streams.shift()?.drop();
    await fixture().publish(0, NOTE);
    await fixture().publish(1, TOOLS);
    for (const stream of streams) await expectBoth(stream);
  }
  // Each remaining stream has its own keep-alives.
  for (const stream of streams) {
    for (let count = 0; count < 3; count += 1) expect(await stream.block()).toMatch(/^:/);
  }
  expect(await fixture().bus('stats')).toMatchObject({ sockets: EDGES });
  expect(await fixture().stats(0)).toMatchObject({ gaps: 0, resyncs: 0 });
});

test('while clients leave during events, the other streams receive the last change', async () => {
  const streams = await open(12);
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

test('the owner still sends follows for new streams after thousands of them', {
  timeout: 180_000,
}, async () => {
  const [holder] = await open(1);
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

test('streams stay open when the bus is reset, and receive what is published right after', async () => {
  const streams = await open(20);
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

test('all streams of an isolate recover a lost frame of their socket at the next frame', async () => {
  const streams = await open(4);
  await fixture().post(1, `/bus/mute?frames=${EDGES}`);
  await fixture().publish(1, TOOLS);
  await fixture().publish(1, NOTE);
  const both = new Set([listChanged('1', 'tools'), updated('1', 'note://a')]);
  for (const stream of streams) expect(await distinctMessages(stream, 2)).toEqual(both);
});

test('streams that open during publishes receive everything after the acknowledgment', async () => {
  const [last] = await open(1);
  await openWhilePublishing(fixture(), () => 0);
  last?.drop();
});

test('the changed filter of a shared connection survives hibernation of the bus', async () => {
  const names = Array.from({ length: 40 }, (_, place) => `note://${place}/${'x'.repeat(200)}`);
  const streams = await Promise.all(
    names.map((uri) => fixture().subscribe(0, { resourceSubscriptions: [uri] })),
  );
  for (const stream of streams) expect(await stream.message()).toContain('acknowledged');
  expect(await fixture().bus('interests')).toBe(1);
  const wakes = await fixture().bus<number>('wakes');
  await fixture().hibernate();
  for (const [place, uri] of names.entries()) {
    await fixture().publish(1, { kind: 'resource_updated', uri });
    expect(await streams[place]?.message()).toBe(updated('1', uri));
  }
  expect(await fixture().bus<number>('wakes')).toBe(wakes + 1);
});

test('the stream of a session has its own socket beside a shared connection', async () => {
  const [stream] = await open(1);
  const session = await fixture().session(0);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const own = await fixture().openSession(session, 0);
  await own.event();
  expect(await fixture().bus('stats')).toMatchObject({ sockets: 2 });
  await fixture().publish(1, NOTE);
  expect(await own.event()).toContain('note://a');
  expect(await stream?.message()).toBe(updated('1', 'note://a'));
});

test('a client that leaves before the acknowledgment does not affect the next stream', async () => {
  await fixture().post(1, '/bus/withhold?is=true');
  const patient = { timeouts: { attachMs: 60_000 } };
  const opening = fixture().subscribeWith(0, patient, FILTER);
  await expect.poll(() => fixture().bus<BusStats>('stats')).toMatchObject({ sockets: 1 });
  const second = fixture().subscribeWith(0, patient, FILTER);
  await fixture().post(1, '/bus/withhold?is=false');
  (await opening).drop();
  expect(await (await second).message()).toBe(acknowledged('1', FILTER));
  await fixture().publish(1, TOOLS);
  expect(await (await second).message()).toBe(listChanged('1', 'tools'));
});

// A closed server stays closed, so this is the last test.
test('close in another request of the isolate ends each stream with the result', async () => {
  const streams = await open(6);
  const closed = fixture().post(0, '/close');
  const ending = streams.filter((_, place) => place % 2 === 0);
  for (const stream of ending) {
    expect(await stream.message()).toContain('"resultType":"complete"');
    expect(await stream.message()).toBeUndefined();
  }
  expect((await closed).status).toBe(200);
  await expect.poll(() => fixture().bus('stats')).toMatchObject({ sockets: 1 });
});

/** Opens streams at the isolates in turn. */
async function open(count: number): Promise<WireStream[]> {
  const streams: WireStream[] = [];
  for (let place = 0; place < count; place += 1)
    streams.push(await fixture().open(place % EDGES, FILTER));
  return streams;
}

/** Checks that the stream receives both changes, in the order of the log. */
async function expectBoth(stream: WireStream): Promise<void> {
  expect(await stream.message()).toBe(updated('1', 'note://a'));
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
}
