import type { BusStats } from 'mcp-listen/cloudflare';
import { afterEach, describe, expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { acknowledged, listChanged, updated, type WireStream } from '../../host/listen.ts';

/** An object with a timer does not hibernate, and is billed. */
describe.each(['auto', 'each'])('the bus of streams with sockets: %s', (sockets) => {
  const fixture = useFixture({ SOCKETS: sockets });

  test('sets no timer when a stream opens, adds topics or leaves', async () => {
    const { set } = await fixture().bus<Timers>('timers');
    const first = await fixture().subscribe(0, NOTE);
    expect(await first.message()).toBe(acknowledged('1', NOTE));
    const own = { toolsListChanged: true, resourceSubscriptions: ['note://own'] };
    const second = await fixture().subscribe(0, own);
    expect(await second.message()).toBe(acknowledged('1', own));
    second.drop();
    await expect.poll(async () => (await fixture().stats(0)).open, { timeout: 20_000 }).toBe(1);
    expect(await fixture().bus('timers')).toEqual({ armed: 0, set });
  });

  test('sets no timer for a publish', async () => {
    const stream = await fixture().subscribe(0, NOTE);
    expect(await stream.message()).toBe(acknowledged('1', NOTE));
    const { set } = await fixture().bus<Timers>('timers');
    for (let count = 0; count < 3; count += 1) {
      await fixture().publish(1, { kind: 'resource_updated', uri: 'note://a' });
      expect(await stream.message()).toBe(updated('1', 'note://a'));
    }
    expect(await fixture().bus('timers')).toEqual({ armed: 0, set });
  });

  test('sets no timer when a stream attaches again and receives what it missed', async () => {
    const stream = await fixture().subscribe(0, NOTE);
    expect(await stream.message()).toBe(acknowledged('1', NOTE));
    await fixture().post(1, '/bus/reset');
    const { set } = await fixture().bus<Timers>('timers');
    await fixture().publish(1, { kind: 'resource_updated', uri: 'note://a' });
    expect(await stream.message()).toBe(updated('1', 'note://a'));
    expect(await fixture().bus('timers')).toEqual({ armed: 0, set });
  });
});

describe.each([
  ['auto', '1'],
  ['each', '8'],
])('a bus with shards of streams with sockets: %s', (sockets, perShard) => {
  const fixture = useFixture({ SOCKETS: sockets, EDGES_PER_SHARD: perShard });
  const streams: WireStream[] = [];
  afterEach(() => streams.splice(0));

  test('has no timer after it has replied to an open, and none soon after a publish', async () => {
    for (let place = 0; place < 12; place += 1) await open(`note://${place}`);
    await expect.poll(away).toBe(0);
    expect((await fixture().bus<BusStats>('stats')).shards.length).toBeGreaterThan(0);
    await expect.poll(armed).toBe(0);
    // A topic that the shard does not follow yet, so that it calls the root.
    await open('note://new');
    expect(await armed()).toBe(0);
    // A topic that it follows already.
    await open('note://new');
    expect(await armed()).toBe(0);
    await fixture().publish(1, { kind: 'tools_list_changed' });
    for (const stream of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
    await expect.poll(armed).toBe(0);
    // A shard that is behind catches up with the reply.
    await fixture().publish(1, { kind: 'prompts_list_changed' });
    await open('note://newer');
    expect(await armed()).toBe(0);
  });

  test('has shards that keep the positions that they sent while they hibernate', {
    timeout: 60_000,
  }, async () => {
    for (let place = 0; place < 12; place += 1) await open(`note://asleep/${place}`);
    await expect.poll(away).toBe(0);
    // The first event goes to all streams, the second to one.
    await publish({ kind: 'tools_list_changed' });
    for (const stream of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
    await publish({ kind: 'resource_updated', uri: 'note://asleep/3' });
    expect(await streams[3]?.message()).toBe(updated('1', 'note://asleep/3'));
    const before = await Promise.all([0, 1].map(calm));
    const wakes = await fixture().bus<number>('wakes');
    for (const { shard } of (await fixture().bus<BusStats>('stats')).shards)
      await fixture().hibernate(shard);
    await fixture().hibernate();
    await publish({ kind: 'resource_updated', uri: 'note://asleep/7' });
    expect(await fixture().bus<number>('wakes')).toBe(wakes + 1);
    expect(await streams[7]?.message()).toBe(updated('1', 'note://asleep/7'));
    await publish({ kind: 'tools_list_changed' });
    for (const stream of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
    expect(await Promise.all([0, 1].map(calm))).toEqual(before);
  });

  function publish(event: object): Promise<unknown> {
    return fixture().publish(1, event);
  }

  /** The losses of the streams of an isolate. */
  async function calm(edge: number): Promise<object> {
    const { gaps, healed, outages, resyncs } = await fixture().stats(edge);
    return { gaps, healed, outages, resyncs };
  }

  async function away(): Promise<number> {
    return (await fixture().stats(0)).away + (await fixture().stats(1)).away;
  }

  async function armed(): Promise<number> {
    return (await fixture().bus<Timers>('timers')).armed;
  }

  async function open(uri: string): Promise<void> {
    const filter = { toolsListChanged: true, resourceSubscriptions: [uri] };
    const stream = await fixture().subscribe(streams.length % 2, filter);
    expect(await stream.message()).toBe(acknowledged('1', filter));
    streams.push(stream);
  }
});

interface Timers {
  armed: number;
  set: number;
}

const NOTE = { resourceSubscriptions: ['note://a'] };
