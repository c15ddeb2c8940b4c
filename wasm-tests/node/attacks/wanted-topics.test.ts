import { InMemoryBus, type Topic, type WantedOptions } from 'mcp-listen';
import { describe, expect, test } from 'vitest';
import { HookedTopics } from '../../../dist/bus/wanted/hooked-topics.js';
import { wantedOptions } from '../../../dist/bus/wanted/options.js';
import { acknowledged } from '../../host/listen.ts';
import { open, serving } from '../serving.ts';

const TOPIC_BYTES = 256 + 'resource:note://100'.length;
/** Room for ten topics of the tests. */
const NAMES_BYTES = 10 * TOPIC_BYTES;
/** Room for twenty topics of each of eight callers. */
const SHARED_BYTES = 8 * 20 * TOPIC_BYTES;
const topicsOf = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => `resource:note://${100 + first + index}`);

/** Hooks that record which topics are held, and how many were at most. */
function recorded(options: WantedOptions = {}) {
  const held = new Set<string>();
  const seen = { most: 0 };
  const nameOf = (topic: Topic) => ('uri' in topic ? topic.uri : topic.kind);
  const wanted: WantedOptions = {
    namesBytes: NAMES_BYTES,
    onWanted: (topic) => {
      held.add(nameOf(topic));
      seen.most = Math.max(seen.most, held.size);
    },
    onUnwanted: (topic) => void held.delete(nameOf(topic)),
    ...options,
  };
  return { held, seen, wanted };
}

/** Hooks, and the topics that streams have. */
function hooked(options: WantedOptions = {}, graceMs = 0) {
  const { held, wanted } = recorded(options);
  const demand = new Set<string>();
  const codes: unknown[] = [];
  const ended: string[] = [];
  const hooks = new HookedTopics({
    hooks: wantedOptions(wanted),
    context: { bus: undefined, publish: async () => {} },
    demand: {
      isWanted: (topic) => demand.has(topic),
      isMine: () => true,
      isTaken: () => false,
      isElsewhere: () => false,
      isAgain: false,
    },
    onError: (error) => codes.push((error as { code?: unknown }).code),
    onEnd: (topic) => ended.push(topic),
    onDue: () => {},
    graceMs,
  });
  const want = (topics: string[], now: number, caller?: string) =>
    Promise.all(topics.map((topic) => hooks.want(topic, now, { caller })));
  return { codes, demand, ended, held, hooks, want };
}

test('a caller that opens and closes streams with new topics fills half of the room', async () => {
  const { held, seen, wanted } = recorded();
  const server = serving({ bus: new InMemoryBus({ wanted }) });
  for (let first = 0; first < 60; first += 3) {
    const resourceSubscriptions = [0, 1, 2].map((index) => `note://${100 + first + index}`);
    (await open(server, { resourceSubscriptions })).drop();
    await expect.poll(() => server.stats().open).toBe(0);
    await expect.poll(() => held.size).toBeLessThanOrEqual(5);
  }
  expect(seen.most).toBeGreaterThan(5);
  const filter = { resourceSubscriptions: ['note://a', 'note://b'] };
  const stream = await open(server, filter);
  expect(await stream.message()).toBe(acknowledged('1', filter));
});

describe('topics beyond wanted.namesBytes', () => {
  test('are refused, which is reported once, until others are unwanted', async () => {
    const { codes, demand, ended, held, hooks, want } = hooked();
    const [first, second] = [topicsOf(0, 10), topicsOf(20, 5)];
    for (const topic of first) demand.add(topic);
    expect(await want(first, 0)).toEqual(Array(10).fill(true));
    expect(await want(second, 0)).toEqual(Array(5).fill(false));
    expect(await want(first, 0)).toEqual(Array(10).fill(true));
    expect([held.size, codes]).toEqual([10, ['wanted-failed']]);
    demand.clear();
    hooks.change(first);
    hooks.sweep(1);
    await expect.poll(() => ended).toHaveLength(10);
    expect(hooks.sweep(2).next).toBeUndefined();
    expect(await want(second, 2)).toEqual(Array(5).fill(true));
  });

  test('of streams that are open already are tried again', async () => {
    const { demand, ended, held, hooks, want } = hooked();
    await want(topicsOf(0, 10), 0);
    const late = topicsOf(90, 1);
    for (const topic of late) demand.add(topic);
    hooks.change(late);
    hooks.sweep(0);
    await expect.poll(() => ended).toHaveLength(10);
    expect(hooks.sweep(29_999).topics).not.toContain(late[0]);
    hooks.sweep(30_000);
    await expect.poll(() => [...held]).toEqual(['note://190']);
  });

  test('count bytes, not characters', async () => {
    const { want } = hooked();
    const topics = topicsOf(0, 10).map((topic) => topic.replace('note', 'nöté'));
    expect((await want(topics, 0)).filter((isAccepted) => isAccepted)).toHaveLength(9);
  });

  test('count topics from before a restart', async () => {
    const { hooks, want } = hooked();
    for (const topic of topicsOf(0, 10)) hooks.restore(topic);
    expect(await want(topicsOf(50, 1), 0)).toEqual([false]);
    expect(await want(topicsOf(0, 10), 0)).toEqual(Array(10).fill(true));
  });
});

describe('the topics of one caller', () => {
  test('have an eighth of wanted.namesBytes, for as long as they are wanted', async () => {
    const { codes, demand, ended, hooks, want } = hooked({ namesBytes: SHARED_BYTES });
    const twenty = topicsOf(0, 20);
    for (const topic of topicsOf(0, 140)) demand.add(topic);
    expect(await want(topicsOf(0, 25), 0, 'ann')).toEqual([
      ...Array(20).fill(true),
      ...Array(5).fill(false),
    ]);
    expect(await want(topicsOf(15, 10), 0, 'ben')).toEqual(Array(10).fill(true));
    expect(await want(topicsOf(40, 100), 0)).toEqual(Array(100).fill(true));
    expect(await want(twenty, 0, 'ann')).toEqual(Array(20).fill(true));
    expect(codes).toEqual([]);
    for (const topic of twenty) demand.delete(topic);
    hooks.change(twenty);
    hooks.sweep(1);
    await expect.poll(() => ended).toHaveLength(20);
    expect(await want(topicsOf(200, 20), 2, 'ann')).toEqual(Array(20).fill(true));
  });

  test('take none of it if onWanted refuses them', async () => {
    const onWanted = (topic: Topic) => 'uri' in topic && topic.uri !== 'note://refused';
    const { want } = hooked({ namesBytes: SHARED_BYTES, onWanted });
    for (let count = 0; count < 50; count += 1) await want(['resource:note://refused'], 0, 'ann');
    expect(await want(topicsOf(0, 20), 0, 'ann')).toEqual(Array(20).fill(true));
  });

  test('are those of its name or address, over all its streams', async () => {
    const { held, wanted } = recorded({ namesBytes: SHARED_BYTES });
    const principal = (request: Request) => request.headers.get('x-caller') ?? undefined;
    const server = serving({ bus: new InMemoryBus({ wanted }), principal });
    const notes = (first: number, count: number) => ({
      resourceSubscriptions: topicsOf(first, count).map((topic) => topic.slice(9)),
    });
    const openAs = async (caller: string, filter: object) =>
      (await open(server, filter, { headers: { 'x-caller': caller } })).message();
    for (const first of [0, 10]) await openAs('ann', notes(first, 10));
    expect(held.size).toBe(20);
    const more = { toolsListChanged: true, ...notes(20, 10) };
    await openAs('ann', more);
    expect(held.size).toBe(20);
    expect(await openAs('ben', more)).toBe(acknowledged('1', more));
    expect(held.size).toBe(31);
  });
});

test('topics that onWanted refuses take no room', async () => {
  const { codes, ended, want } = hooked({ onWanted: () => false });
  for (let first = 0; first < 100; first += 10) await want(topicsOf(first, 10), 0);
  expect([ended.length, codes]).toEqual([100, []]);
});

test('topics that onWanted refuses are not checked again later', async () => {
  const { hooks, want } = hooked({ onWanted: () => false }, 10_000);
  await want(topicsOf(0, 10), 0);
  hooks.sweep(1);
  expect(hooks.sweep(20_000)).toEqual({ topics: new Set(), next: undefined });
});
