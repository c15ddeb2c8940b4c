import type { ListenStats, ServerEvent } from 'mcp-listen';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { acknowledged, listChanged, updated, type WireStream } from './listen.ts';

/** A process or an isolate that holds streams and publishes. */
export interface Place {
  /** Opens a stream, or rejects where that is refused. */
  open(filter: object): Promise<WireStream>;
  /** Publishes together what is given together. */
  publish(...events: ServerEvent[]): Promise<unknown>;
  /** What its streams went through. */
  stats(): Promise<Pick<ListenStats, 'open' | 'away' | 'healed' | 'resyncs'>>;
}

/** Two places that share a bus: two processes where the bus connects processes. */
export interface Rig {
  here: Place;
  there: Place;
  stop(): Promise<unknown>;
}

/** Something can come from outside that is no event. */
export interface OpenRig extends Rig {
  /** Hands a text to whatever carries the bus. */
  garbage(text: string): Promise<unknown>;
  /** How many messages the bus dropped, there. */
  dropped(): Promise<number>;
}

/** The way between a place and the bus can be cut. */
export interface CutRig extends Rig {
  /** Cuts `there` off, and brings it back after `meanwhile`. */
  absence(meanwhile: () => Promise<void>): Promise<void>;
}

/** The bus can be killed. */
export interface MortalRig extends Rig {
  /** Kills the bus, and brings it back after `meanwhile` without anything that it had kept. */
  loss(meanwhile: () => Promise<void>): Promise<void>;
}

/** The bus can be closed. */
export interface ClosableRig extends Rig {
  /** Closes the bus there. */
  close(): Promise<unknown>;
}

/** One promise, as a test on a rig that others have used before. */
export interface Promised<In> {
  name: string;
  keeps(rig: In): Promise<void>;
}

/** Holds a bus to its promises. */
export function promisesOf<In extends Rig>(
  name: string,
  start: () => Promise<In>,
  promises: Promised<NoInfer<In>>[],
): void {
  describe(name, () => {
    let rig: In;

    beforeAll(async () => {
      rig = await start();
    });

    afterAll(() => rig?.stop());

    test.each(promises)('$name', async ({ keeps }) => {
      await settled(rig);
      await keeps(rig);
    });
  });
}

/** What was published has been heard: a publish is over when the bus has it, and a stream may hear of it that was opened since. */
async function settled({ here, there }: Rig): Promise<void> {
  for (const from of [here, there]) {
    for (const to of [here, there]) {
      const uri = `note://settled/${crypto.randomUUID()}`;
      const stream = await opened(to, { resourceSubscriptions: [uri] });
      await from.publish(changed(uri));
      await stream.message();
      stream.drop();
    }
  }
  await expect.poll(async () => [(await here.stats()).open, (await there.stats()).open]).toEqual([0, 0]);
}

/** What every bus promises. */
export const EVERY: Promised<Rig>[] = [
  {
    name: 'delivers what was published, in both directions, to whoever asked for it',
    async keeps({ here, there }) {
      const near = await opened(here, { ...TOOLS, resourceSubscriptions: ['note://a'] });
      const far = await opened(there, { promptsListChanged: true, resourceSubscriptions: ['note://a'] });
      await here.publish({ kind: 'prompts_list_changed' });
      expect(await far.message()).toBe(listChanged('1', 'prompts'));
      await there.publish({ kind: 'tools_list_changed' });
      expect(await near.message()).toBe(listChanged('1', 'tools'));
      await here.publish(changed('note://b'));
      await there.publish(changed('note://a'));
      for (const stream of [near, far]) expect(await stream.message()).toBe(updated('1', 'note://a'));
      near.drop();
      far.drop();
    },
  },
  {
    name: 'misses nothing between an acknowledgment and the next publish',
    async keeps({ here, there }) {
      for (let count = 0; count < 20; count += 1) {
        const stream = await opened(there, TOOLS);
        await here.publish({ kind: 'tools_list_changed' });
        expect(await stream.message()).toBe(listChanged('1', 'tools'));
        stream.drop();
      }
    },
  },
  {
    name: 'keeps the order in which events were published',
    async keeps({ here, there }) {
      const uris = Array.from({ length: 100 }, (_, place) => `note://${place}`);
      const stream = await opened(there, { resourceSubscriptions: uris });
      for (const uri of uris.slice(0, 50)) await here.publish(changed(uri));
      await here.publish(...uris.slice(50).map(changed));
      for (const uri of uris) expect(await stream.message()).toBe(updated('1', uri));
      stream.drop();
    },
  },
  {
    name: 'publishes events together, or none of them where one is no event',
    async keeps({ here, there }) {
      const stream = await opened(there, { ...TOOLS, resourceSubscriptions: ['note://a'] });
      const nonsense = { kind: 'nonsense' } as unknown as ServerEvent;
      await expect(here.publish(changed('note://a'), nonsense)).rejects.toThrow();
      await here.publish({ kind: 'tools_list_changed' });
      expect(await stream.message()).toBe(listChanged('1', 'tools'));
      stream.drop();
    },
  },
  {
    name: 'forgets streams that are gone',
    async keeps({ here, there }) {
      const stream = await opened(there, TOOLS);
      await expect.poll(async () => (await there.stats()).open).toBe(1);
      stream.drop();
      // Workers notice at the next write.
      await here.publish({ kind: 'tools_list_changed' });
      await expect.poll(async () => (await there.stats()).open).toBe(0);
    },
  },
];

/** What a bus promises to which others may write. */
export const DROPS: Promised<OpenRig> = {
  name: 'drops and counts what is no event, and goes on',
  async keeps(rig) {
    const stream = await opened(rig.there, TOOLS);
    const dropped = await rig.dropped();
    const { resyncs } = await rig.there.stats();
    for (const text of GARBAGE) await rig.garbage(text);
    await rig.here.publish({ kind: 'tools_list_changed' });
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    await expect.poll(() => rig.dropped()).toBe(dropped + GARBAGE.length);
    expect(await rig.there.stats()).toMatchObject({ away: 0, resyncs });
    stream.drop();
  },
};

/** What a bus promises that keeps events for a while. */
export const REPLAYS: Promised<CutRig> = {
  name: 'tells what was missed during an absence, in its order and nothing else, while streams stay open',
  async keeps(rig) {
    const { missed, stream } = await absent(rig);
    for (const note of ['c', 'b', 'a']) expect(await stream.message()).toBe(updated('1', `note://${note}`));
    await rig.here.publish({ kind: 'tools_list_changed' });
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    expect(await missed()).toBe(0);
    stream.drop();
  },
};

/** What a bus promises that keeps nothing. */
export const REPORTS: Promised<CutRig> = {
  name: 'tells of everything after an absence, while streams stay open',
  async keeps(rig) {
    const { missed, stream } = await absent(rig);
    const told = [await stream.message(), await stream.message(), await stream.message(), await stream.message()];
    expect(told.toSorted()).toEqual(
      [listChanged('1', 'tools'), ...['note://a', 'note://b', 'note://c'].map((uri) => updated('1', uri))].toSorted(),
    );
    expect(await missed()).toBe(1);
    stream.drop();
  },
};

/** What every bus promises that can be lost. */
export const SURVIVES: Promised<MortalRig> = {
  name: 'says no to publishes and streams while it is gone, and tells of everything when it is back and empty',
  async keeps({ here, there, loss }) {
    const stream = await opened(there, { ...TOOLS, resourceSubscriptions: ['note://a'] });
    await here.publish({ kind: 'tools_list_changed' });
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    const { resyncs } = await there.stats();
    await loss(async () => {
      await expect.poll(async () => (await there.stats()).away).toBe(1);
      const [streamed, published] = await Promise.allSettled([
        there.open(TOOLS),
        here.publish({ kind: 'prompts_list_changed' }),
      ]);
      expect(streamed).toMatchObject({ reason: { message: 'status 503' } });
      expect(published).toMatchObject({ reason: { code: 'bus-unavailable' } });
    });
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    expect(await stream.message()).toBe(updated('1', 'note://a'));
    await expect.poll(async () => await there.stats()).toMatchObject({ away: 0, resyncs: resyncs + 1 });
    await here.publish(changed('note://a'));
    expect(await stream.message()).toBe(updated('1', 'note://a'));
    stream.drop();
  },
};

/** The promise behind all others. */
export const LOSES_NOTHING: Promised<MortalRig> = {
  name: 'tells of all that it took, whatever it was killed in',
  async keeps({ here, loss, there }) {
    const uris = Array.from({ length: 100 }, (_, place) => `note://${place}`);
    const stream = await opened(there, { resourceSubscriptions: uris });
    const taken = uris.reduce((before, uri) => before.then(() => publishedAtLast(here, uri)), Promise.resolve());
    const heard = new Set<string>();
    while (heard.size < 20) heard.add((await stream.message()) ?? '');
    await loss(async () => {});
    await taken;
    while (heard.size < uris.length) heard.add((await stream.message()) ?? '');
    expect([...heard].toSorted()).toEqual(uris.map((uri) => updated('1', uri)).toSorted());
    stream.drop();
  },
};

/** Publishes until the bus takes it. */
async function publishedAtLast(place: Place, uri: string): Promise<void> {
  const taken = (): Promise<boolean> =>
    place.publish(changed(uri)).then(
      () => true,
      () => false,
    );
  await expect.poll(taken, { timeout: 30_000 }).toBe(true);
}

/** What every bus promises that can be closed; the last one of a list. */
export const CLOSES: Promised<ClosableRig> = {
  name: 'ends its streams without a result when it is closed, and takes no more events',
  async keeps({ close, here, there }) {
    const stream = await opened(there, TOOLS);
    await close();
    expect(await stream.message()).toBeUndefined();
    await expect(there.publish({ kind: 'tools_list_changed' })).rejects.toMatchObject({ code: 'bus-unavailable' });
    await expect(there.open(TOOLS)).rejects.toThrow('status 503');
    await close();
    await here.publish({ kind: 'tools_list_changed' });
  },
};

/** A stream that was away while notes c, b and a changed; `missed` says how often nobody could tell what it had missed. */
async function absent({ absence, here, there }: CutRig) {
  const stream = await opened(there, { ...TOOLS, resourceSubscriptions: ['note://a', 'note://b', 'note://c'] });
  await here.publish(changed('note://a'));
  expect(await stream.message()).toBe(updated('1', 'note://a'));
  const before = await there.stats();
  await absence(async () => {
    await expect.poll(async () => (await there.stats()).away).toBe(1);
    for (const note of ['c', 'b', 'a']) await here.publish(changed(`note://${note}`));
  });
  await expect.poll(() => there.stats()).toMatchObject({ open: 1, away: 0, healed: before.healed + 1 });
  return { stream, missed: async () => (await there.stats()).resyncs - before.resyncs };
}

async function opened(place: Place, filter: object): Promise<WireStream> {
  const stream = await place.open(filter);
  expect(await stream.message()).toBe(acknowledged('1', filter));
  return stream;
}

function changed(uri: string): ServerEvent {
  return { kind: 'resource_updated', uri };
}

const TOOLS = { toolsListChanged: true };
/** Cut short, not JSON, not known, nothing, and too much. */
const GARBAGE = [
  '{"kind":"tools_list_changed"',
  'tools_list_changed',
  '{"kind":"nonsense"}',
  '',
  '[]',
  '{"kind":"resource_updated","uri":"a\\nb"}',
  `{"kind":"resource_updated","uri":"${'x'.repeat(100_000)}"}`,
];
