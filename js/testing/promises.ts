import type { ServerEvent } from '../model/event.js';
import { eventually, expectSame, rejectionOf } from './check.js';
import {
  acknowledgment,
  changed,
  expectNext,
  listChanged,
  nextMessage,
  opened,
  TOOLS,
  updated,
} from './messages.js';
import type { BusPlace, CountingPlace } from './place.js';
import type {
  BusRig,
  BusTestOn,
  ClosableRig,
  CountingRig,
  CutRig,
  MortalRig,
  OpenRig,
} from './rig.js';

/** The promises of every bus. */
export const EVERY: BusTestOn<BusRig>[] = [
  {
    name: 'delivers a change to every subscribed stream, in both directions',
    async keeps({ here, there }) {
      const near = await opened(here, { ...TOOLS, resourceSubscriptions: ['note://a'] });
      const far = await opened(there, {
        promptsListChanged: true,
        resourceSubscriptions: ['note://a'],
      });
      await here.publish({ kind: 'prompts_list_changed' });
      await expectNext(far, listChanged('prompts'));
      await there.publish({ kind: 'tools_list_changed' });
      await expectNext(near, listChanged('tools'));
      await here.publish(changed('note://b'));
      await there.publish(changed('note://a'));
      for (const stream of [near, far]) await expectNext(stream, updated('note://a'));
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
        await expectNext(stream, listChanged('tools'));
        stream.drop();
      }
    },
  },
  {
    name: 'keeps the order in which events were published',
    async keeps({ here, there }) {
      const uris = Array.from({ length: 100 }, (_, index) => `note://${index}`);
      const stream = await opened(there, { resourceSubscriptions: uris });
      for (const uri of uris.slice(0, 50)) await here.publish(changed(uri));
      await here.publish(...uris.slice(50).map(changed));
      for (const uri of uris) await expectNext(stream, updated(uri));
      stream.drop();
    },
  },
  {
    name: 'publishes all events of a batch, or none if one is invalid',
    async keeps({ here, there }) {
      const stream = await opened(there, { ...TOOLS, resourceSubscriptions: ['note://a'] });
      const nonsense = { kind: 'nonsense' } as unknown as ServerEvent;
      await rejectionOf(
        here.publish(changed('note://a'), nonsense),
        'a publish with an invalid event',
      );
      await here.publish({ kind: 'tools_list_changed' });
      await expectNext(stream, listChanged('tools'));
      stream.drop();
    },
  },
  {
    name: 'releases closed streams',
    async keeps({ here, there }) {
      const stream = await opened(there, TOOLS);
      await eventually(async () => (await there.stats()).open === 1, 'one stream is open');
      stream.drop();
      // Workers detect a closed connection at the next write.
      await here.publish({ kind: 'tools_list_changed' });
      await eventually(async () => (await there.stats()).open === 0, 'no stream is open');
    },
  },
];

/** The promise of a bus that counts the streams of callers. */
export const COUNTS: BusTestOn<CountingRig> = {
  name: 'counts the streams of a caller in all processes, in each of them',
  async keeps({ here, there }) {
    const streams = [
      await here.open(TOOLS, 'ann'),
      await there.open(TOOLS, 'ann'),
      await there.open(TOOLS, 'ann'),
      await there.open(TOOLS, 'bob'),
    ];
    for (const stream of streams) await expectNext(stream, acknowledgment(TOOLS));
    await counted([here, there], { ann: 3, bob: 1, cat: 0 });
    for (const stream of streams.slice(1)) stream.drop();
    // Workers detect a closed connection at the next write.
    await here.publish({ kind: 'tools_list_changed' });
    await counted([here, there], { ann: 1, bob: 0 });
    streams[0]?.drop();
  },
};

/** The promise of a bus that receives texts from other writers. */
export const DROPS: BusTestOn<OpenRig> = {
  name: 'drops and counts malformed messages, and continues',
  async keeps(rig) {
    const stream = await opened(rig.there, TOOLS);
    const dropped = await rig.dropped();
    const { resyncs } = await rig.there.stats();
    let carried = 0;
    for (const text of GARBAGE) if ((await rig.garbage(text)) !== false) carried += 1;
    await rig.here.publish({ kind: 'tools_list_changed' });
    await expectNext(stream, listChanged('tools'));
    await eventually(
      async () => (await rig.dropped()) === dropped + carried,
      'each text is counted once',
    );
    const { away, resyncs: after } = await rig.there.stats();
    expectSame([away, after], [0, resyncs], 'streams without their bus, and resyncs');
    stream.drop();
  },
};

/** The promise of a bus that keeps events for a while. */
export const REPLAYS: BusTestOn<CutRig> = {
  name: 'replays exactly the missed events, in order, after a disconnect; streams stay open',
  async keeps(rig) {
    const { resyncs, stream } = await absent(rig);
    for (const note of ['c', 'b', 'a']) await expectNext(stream, updated(`note://${note}`));
    await rig.here.publish({ kind: 'tools_list_changed' });
    await expectNext(stream, listChanged('tools'));
    expectSame(await resyncs(), 0, 'resyncs');
    stream.drop();
  },
};

/** The promise of a bus that keeps no events. */
export const REPORTS: BusTestOn<CutRig> = {
  name: 'resyncs every topic after a disconnect; streams stay open',
  async keeps(rig) {
    const { resyncs, stream } = await absent(rig);
    const received = [
      await nextMessage(stream),
      await nextMessage(stream),
      await nextMessage(stream),
      await nextMessage(stream),
    ];
    const all = [listChanged('tools'), ...['note://a', 'note://b', 'note://c'].map(updated)];
    expectSame(received.toSorted(), all.toSorted(), 'what the stream is notified of');
    expectSame(await resyncs(), 1, 'resyncs');
    stream.drop();
  },
};

/** The promise of every bus whose broker can be lost. */
export const SURVIVES: BusTestOn<MortalRig> = {
  name: 'refuses publishes and streams while the broker is down, and resyncs when it returns empty',
  async keeps({ here, there, loss }) {
    const stream = await opened(there, { ...TOOLS, resourceSubscriptions: ['note://a'] });
    await here.publish({ kind: 'tools_list_changed' });
    await expectNext(stream, listChanged('tools'));
    const { resyncs } = await there.stats();
    await loss(async () => {
      await eventually(async () => (await there.stats()).away === 1, 'the stream is away');
      const [streamed, published] = await Promise.all([
        rejectionOf(there.open(TOOLS), 'a stream while the bus is unavailable'),
        rejectionOf(
          here.publish({ kind: 'prompts_list_changed' }),
          'a publish while the bus is unavailable',
        ),
      ]);
      expectSame(
        [streamed.message, published.code],
        ['status 503', 'bus-unavailable'],
        'the refusals',
      );
    });
    await expectNext(stream, listChanged('tools'));
    await expectNext(stream, updated('note://a'));
    await eventually(async () => {
      const now = await there.stats();
      return now.away === 0 && now.resyncs === resyncs + 1;
    }, 'the stream is back after one resync');
    await here.publish(changed('note://a'));
    await expectNext(stream, updated('note://a'));
    stream.drop();
  },
};

/** The promise of a bus that loses no event that it accepted. */
export const LOSES_NOTHING: BusTestOn<MortalRig> = {
  name: 'delivers every accepted event, whenever it was killed',
  async keeps({ here, loss, there }) {
    const uris = Array.from({ length: 100 }, (_, index) => `note://${index}`);
    const stream = await opened(there, { resourceSubscriptions: uris });
    const taken = uris.reduce(
      (before, uri) => before.then(() => publishedAtLast(here, uri)),
      Promise.resolve(),
    );
    // It is awaited once the broker is back.
    taken.catch(() => {});
    const received = new Set<string>();
    while (received.size < 20) received.add(await nextMessage(stream));
    await loss(async () => {});
    await taken;
    while (received.size < uris.length) received.add(await nextMessage(stream));
    expectSame(
      [...received].toSorted(),
      uris.map(updated).toSorted(),
      'what the stream was notified of',
    );
    stream.drop();
  },
};

/** The promise of every bus that can be closed. Runs last, since it closes the bus. */
export const CLOSES: BusTestOn<ClosableRig> = {
  name: 'ends its streams without a result when it is closed, and accepts no more events',
  async keeps({ close, here, there }) {
    const stream = await opened(there, TOOLS);
    await close();
    await expectNext(stream, undefined);
    const published = await rejectionOf(
      there.publish({ kind: 'tools_list_changed' }),
      'a publish on a closed bus',
    );
    const streamed = await rejectionOf(there.open(TOOLS), 'a stream on a closed bus');
    expectSame(
      [streamed.message, published.code],
      ['status 503', 'bus-unavailable'],
      'the refusals',
    );
    await close();
    await here.publish({ kind: 'tools_list_changed' });
  },
};

/**
 * Resolves once all earlier events have been delivered, so that a stream opened later receives none
 * of them.
 */
export async function settled({ here, there }: BusRig): Promise<void> {
  for (const from of [here, there]) {
    for (const to of [here, there]) {
      const uri = `note://settled/${crypto.randomUUID()}`;
      const stream = await opened(to, { resourceSubscriptions: [uri] });
      await from.publish(changed(uri));
      await expectNext(stream, updated(uri));
      stream.drop();
    }
  }
  const open = async () => (await here.stats()).open + (await there.stats()).open;
  await eventually(async () => (await open()) === 0, 'no stream is open');
}

/** Expects each place to count this many streams of each caller. */
async function counted(places: CountingPlace[], counts: Record<string, number>): Promise<void> {
  for (const place of places)
    for (const [name, streams] of Object.entries(counts))
      await eventually(
        // While the bus connects, it refuses to count.
        async () => (await place.listeners(name).catch(() => undefined)) === streams,
        `${streams} streams of ${name} are counted`,
      );
}

/** Publishes an event, and retries until the bus accepts it. */
async function publishedAtLast(process: BusPlace, uri: string): Promise<void> {
  const isAccepted = (): Promise<boolean> =>
    process.publish(changed(uri)).then(
      () => true,
      () => false,
    );
  await eventually(isAccepted, `the bus takes ${uri}`, 30_000);
}

/**
 * Disconnects a stream while notes c, b and a change. Returns the stream and the count of its
 * resyncs since.
 */
async function absent({ absence, here, there }: CutRig) {
  const stream = await opened(there, {
    ...TOOLS,
    resourceSubscriptions: ['note://a', 'note://b', 'note://c'],
  });
  await here.publish(changed('note://a'));
  await expectNext(stream, updated('note://a'));
  const before = await there.stats();
  await absence(async () => {
    await eventually(async () => (await there.stats()).away === 1, 'the stream is away');
    for (const note of ['c', 'b', 'a']) await here.publish(changed(`note://${note}`));
  });
  await eventually(async () => {
    const { away, healed, open } = await there.stats();
    return open === 1 && away === 0 && healed === before.healed + 1;
  }, 'the stream is back');
  return { stream, resyncs: async () => (await there.stats()).resyncs - before.resyncs };
}

/**
 * Texts that are not events: truncated, not JSON, of an unknown kind, empty, an empty list,
 * invalid and too long.
 */
const GARBAGE = [
  '{"kind":"tools_list_changed"',
  'tools_list_changed',
  '{"kind":"nonsense"}',
  '',
  '[]',
  '{"kind":"resource_updated","uri":"a\\nb"}',
  `{"kind":"resource_updated","uri":"${'x'.repeat(100_000)}"}`,
];
