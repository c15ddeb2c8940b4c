import type { ListenStats } from 'mcp-listen';
import type { BusStats } from 'mcp-listen/cloudflare';
import { afterEach, expect, test, vi } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { distinctMessages, listChanged, updated, type WireStream } from '../../host/listen.ts';

const fixture = useFixture({ KEPT_APART: 'on' });
// A missing cue must not hold the lane for long.
vi.setConfig({ testTimeout: 30_000 });
afterEach(resumeAll);

const FILTER = { toolsListChanged: true, resourceSubscriptions: ['note://a'] };
const URIS = Array.from({ length: 60 }, (_, place) => `note://${place}`);
const TOOLS = { kind: 'tools_list_changed' };
const NOTE = { kind: 'resource_updated', uri: 'note://a' };
/** The request of the first stream of an isolate owns the shared socket. */
const OWNER = 'owner';
/** Milliseconds that its stream lives. */
const AGE_MS = 1_000;

/** What happens to the owner; `begin` resolves once it has begun. */
const FATES: [what: string, options: object, begin: (owner: WireStream) => unknown][] = [
  ['is cancelled by its client', {}, (owner) => owner.drop()],
  ['ends by its age', { maxConnectionAgeMs: AGE_MS }, untilEnd],
  ['is never resumed', {}, () => fixture().post(0, `/stall?request=${OWNER}`)],
];

test.each(FATES)(
  'when the owner of the shared socket %s, another request takes over without loss',
  async (_what, options, begin) => {
    const owner = await open(OWNER, options);
    const others = [await open('b'), await open('c'), await open('d')];
    expect(await fixture().bus<BusStats>('stats')).toMatchObject({ attached: 1, sockets: 1 });
    await begin(owner);
    // The first events are published before any other request can have noticed.
    for (let round = 0; round < 4; round += 1) await publishBoth(others);
    expect(await stats()).toMatchObject({
      away: 0,
      gaps: 0,
      resyncs: 0,
      ended: { aborted: 0, exhausted: 0, lost: 0 },
    });
  },
);

test.each(FATES)(
  'when the owner of the shared socket %s during events, the other streams receive each of them',
  async (_what, options, begin) => {
    const filter = { resourceSubscriptions: URIS };
    const owner = await open(OWNER, options, filter);
    const others = [
      await open('b', {}, filter),
      await open('c', {}, filter),
      await open('d', {}, filter),
    ];
    await publish(URIS.slice(0, 10));
    const begun = begin(owner);
    await publish(URIS.slice(10, 35));
    await begun;
    await publish(URIS.slice(35));
    const all = new Set(URIS.map((uri) => updated('1', uri)));
    for (const stream of others) expect(await distinctMessages(stream, URIS.length)).toEqual(all);
    expect(await stats()).toMatchObject({ gaps: 0, resyncs: 0, ended: { aborted: 0, lost: 0 } });
  },
);

test('a former owner that resumes closes its socket, and its stream receives what it missed', async () => {
  const owner = await open(OWNER);
  const others = [await open('b'), await open('c')];
  await fixture().post(0, `/stall?request=${OWNER}`);
  await publishBoth(others);
  await resumeAll();
  await expect
    .poll(() => fixture().bus<BusStats>('stats'))
    .toMatchObject({ attached: 1, sockets: 1 });
  await publishBoth(others);
  const received = new Set([await owner.message(), await owner.message()]);
  expect(received).toEqual(new Set([updated('1', 'note://a'), listChanged('1', 'tools')]));
});

/** Opens a stream whose request has this name. */
function open(name: string, options: object = {}, filter: object = FILTER): Promise<WireStream> {
  return fixture().open(0, filter, { options, headers: { 'x-request': name } });
}

/** The counts of the server without options. */
function stats(): Promise<ListenStats> {
  return fixture().ask(0, {}, 'stats');
}

async function publish(uris: string[]): Promise<void> {
  for (const uri of uris)
    expect(await fixture().publish(1, { kind: 'resource_updated', uri })).toBe(200);
}

/** Resolves when the stream has ended. */
async function untilEnd(stream: WireStream): Promise<void> {
  while ((await stream.message()) !== undefined);
}

/** Publishes both changes, and checks that each stream receives each once. */
async function publishBoth(streams: WireStream[]): Promise<void> {
  expect(await fixture().publish(1, NOTE)).toBe(200);
  expect(await fixture().publish(1, TOOLS)).toBe(200);
  for (const stream of streams) {
    expect(await stream.message()).toBe(updated('1', 'note://a'));
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
  }
}

/** Lets all requests run again. */
async function resumeAll(): Promise<void> {
  await fixture().post(0, '/stall?request=');
}
