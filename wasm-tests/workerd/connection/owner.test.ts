import type { ListenStats } from 'mcp-listen';
import type { BusStats } from 'mcp-listen/cloudflare';
import { afterEach, expect, test, vi } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { acknowledged, listChanged, updated, type WireStream } from '../../host/listen.ts';

const fixture = useFixture({ KEPT_APART: 'on' });
// A cue that never comes must not hold the lane for long.
vi.setConfig({ testTimeout: 30_000 });
afterEach(resumed);

const FILTER = { toolsListChanged: true, resourceSubscriptions: ['note://a'] };
const URIS = Array.from({ length: 60 }, (_, place) => `note://${place}`);
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
    expect(await stats()).toMatchObject({
      away: 0,
      gaps: 0,
      resyncs: 0,
      ended: { aborted: 0, exhausted: 0, lost: 0 },
    });
  },
);

test.each(FATES)(
  'when the request that owns the socket %s while events come, the others hear of each of them',
  async (_what, options, begin) => {
    const filter = { resourceSubscriptions: URIS };
    const owner = await opened(OWNER, options, filter);
    const others = [
      await opened('b', {}, filter),
      await opened('c', {}, filter),
      await opened('d', {}, filter),
    ];
    await published(URIS.slice(0, 10));
    const begun = begin(owner);
    await published(URIS.slice(10, 35));
    await begun;
    await published(URIS.slice(35));
    for (const stream of others)
      expect(await heard(stream)).toEqual(new Set(URIS.map((uri) => updated('1', uri))));
    expect(await stats()).toMatchObject({ gaps: 0, resyncs: 0, ended: { aborted: 0, lost: 0 } });
  },
);

test('an owner that is resumed closes its socket, and hears on', async () => {
  const owner = await opened(OWNER);
  const others = [await opened('b'), await opened('c')];
  await fixture().post(0, `/stall?request=${OWNER}`);
  await both(others);
  await resumed();
  await expect
    .poll(() => fixture().bus<BusStats>('stats'))
    .toMatchObject({ attached: 1, sockets: 1 });
  await both(others);
  const heard = new Set([await owner.message(), await owner.message()]);
  expect(heard).toEqual(new Set([updated('1', 'note://a'), listChanged('1', 'tools')]));
});

/** A stream whose request has this name, acknowledged. */
async function opened(
  name: string,
  options: object = {},
  filter: object = FILTER,
): Promise<WireStream> {
  const stream = await fixture().subscribeWith(0, options, filter, {
    headers: { 'x-request': name },
  });
  expect(await stream.message()).toBe(acknowledged('1', filter));
  return stream;
}

/** What the streams went through whose owner has no options. */
function stats(): Promise<ListenStats> {
  return fixture().ask(0, {}, 'stats');
}

async function published(uris: string[]): Promise<void> {
  for (const uri of uris)
    expect(await fixture().publish(1, { kind: 'resource_updated', uri })).toBe(200);
}

/** What a stream is told, until that is as much as was published. */
async function heard(stream: WireStream): Promise<Set<string | undefined>> {
  const messages = new Set<string | undefined>();
  while (messages.size < URIS.length) messages.add(await stream.message());
  return messages;
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
