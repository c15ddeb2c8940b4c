import type { BusStats } from 'mcp-listen/cloudflare';
import { afterEach, expect, test, vi } from 'vitest';
import { useFixture } from '../host/fixture.ts';
import { acknowledged, listChanged, updated, type WireStream } from '../host/listen.ts';
import { whilePublishing } from '../host/publishing.ts';

const fixture = useFixture({ KEPT_APART: 'on' });
// A cue that never comes must not hold the lane for a minute.
vi.setConfig({ testTimeout: 20_000 });
afterEach(resumed);

const FILTER = { toolsListChanged: true, resourceSubscriptions: ['note://a'] };
const TOOLS = { kind: 'tools_list_changed' };
const NOTE = { kind: 'resource_updated', uri: 'note://a' };
/** The request of the first stream of an isolate owns the socket that all share. */
const OWNER = 'owner';
/** Milliseconds after which its stream ends. */
const AGE_MS = 1_000;

/** What becomes of the owner; resolves when it has begun. */
const FATES: [what: string, options: object, begin: (owner: WireStream) => unknown][] = [
  ['is cancelled by its client', {}, (owner) => owner.drop()],
  ['ends by itself', { maxConnectionAgeMs: AGE_MS }, ended],
  ['is never resumed', {}, () => fixture().post(0, `/stall?request=${OWNER}`)],
];

test.each(FATES)(
  'when the request that owns the socket %s, another opens the next: no cue is lost, no other stream ends, and positions go on',
  async (_what, options, begin) => {
    const owner = await opened(OWNER, options);
    const others = [await opened('b'), await opened('c'), await opened('d')];
    expect(await fixture().bus<BusStats>('stats')).toMatchObject({ attached: 1, sockets: 1 });
    await begin(owner);
    // Published before any other request can have noticed.
    await both(others);
    for (let round = 0; round < 3; round += 1) await both(others);
    const { ended: ends, ...stats } = await fixture().stats(0);
    expect(stats).toMatchObject({ away: 0, gaps: 0, resyncs: 0 });
    expect(ends).toMatchObject({ aborted: 0, exhausted: 0, lost: 0, outdated: 0 });
    for (const stream of others) stream.drop();
    await resumed();
  },
);

test.each(FATES)(
  'when the request that owns the socket %s while events come, the others hear the last state of each',
  async (_what, options, begin) => {
    const owner = await opened(OWNER, options);
    const others = [await opened('b'), await opened('c'), await opened('d')];
    await whilePublishing(
      (turn) => fixture().publish(1, turn % 2 === 0 ? NOTE : TOOLS),
      async () => {
        await begin(owner);
        for (let count = 0; count < 20; count += 1) for (const stream of others) await stream.message();
      },
    );
    await fixture().publish(0, { kind: 'resource_updated', uri: 'note://last' });
    const last = await opened('last', {}, { resourceSubscriptions: ['note://last'] });
    await fixture().publish(0, { kind: 'resource_updated', uri: 'note://last' });
    expect(await last.message()).toBe(updated('1', 'note://last'));
    await resumed();
  },
);

test('an owner that is resumed closes its socket, and hears on', async () => {
  const owner = await opened(OWNER);
  const others = [await opened('b'), await opened('c')];
  await fixture().post(0, `/stall?request=${OWNER}`);
  await both(others);
  await resumed();
  await expect.poll(() => fixture().bus<BusStats>('stats')).toMatchObject({ attached: 1, sockets: 1 });
  await both(others);
  const heard = new Set([await owner.message(), await owner.message()]);
  expect(heard).toEqual(new Set([updated('1', 'note://a'), listChanged('1', 'tools')]));
});

/** A stream whose request has this name, acknowledged. */
async function opened(name: string, options: object = {}, filter: object = FILTER): Promise<WireStream> {
  const stream = await fixture().subscribeWith(0, options, filter, { headers: { 'x-request': name } });
  expect(await stream.message()).toBe(acknowledged('1', filter));
  return stream;
}

/** Resolves when the stream has ended. */
async function ended(stream: WireStream): Promise<void> {
  while ((await stream.message()) !== undefined);
}

/** Both changes are published, and each stream hears each once. */
async function both(streams: WireStream[]): Promise<void> {
  expect(await fixture().publish(1, NOTE)).toBe(200);
  expect(await fixture().publish(1, TOOLS)).toBe(200);
  for (const stream of streams) {
    expect(await stream.message()).toBe(updated('1', 'note://a'));
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
  }
}

/** All requests run again. */
async function resumed(): Promise<void> {
  await fixture().post(0, '/stall?request=');
}
