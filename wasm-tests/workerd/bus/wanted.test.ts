import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { acknowledged } from '../../host/listen.ts';
import { WANTED_BYTES } from '../fixture/bus/hooked.ts';

const UNWANTED_MS = 6_000;
/** Longer than the bus waits for a stream that it has granted a topic. */
const GRACE_MS = 10_500;
const fixture = useFixture({ WANTED: `${UNWANTED_MS}`, EDGES_PER_SHARD: '2' }, 3);

/** A resource that no other test names. */
function note(name: string) {
  const uri = `note://${name}`;
  return { uri, filter: { resourceSubscriptions: [uri] } };
}

/** The calls of the hooks for a resource, in order. */
async function callsFor(uri: string): Promise<string[]> {
  const calls = await fixture().bus<string[]>('hook-calls');
  return calls.filter((call) => call.endsWith(uri)).map((call) => call.slice(0, -uri.length));
}

async function isWanted(uri: string): Promise<boolean> {
  const body = JSON.stringify(['isWanted', `resource:${uri}`]);
  return (await (await fixture().post(0, '/bus/call', body)).json()) as boolean;
}

test('the first stream of all isolates starts a topic before its acknowledgment, and the last one stops it', async () => {
  const { filter, uri } = note('first-and-last');
  const one = await fixture().open(0, filter);
  expect(await callsFor(uri)).toEqual(['+']);
  const two = await fixture().open(1, filter);
  one.drop();
  await pause(2 * UNWANTED_MS);
  expect(await callsFor(uri)).toEqual(['+']);
  expect(await isWanted(uri)).toBe(true);
  two.drop();
  await expect.poll(() => isWanted(uri)).toBe(false);
  await expect.poll(() => callsFor(uri), { timeout: 20_000 }).toEqual(['+', '-']);
});

test('a topic that the hook refuses is not honored', async () => {
  const { filter, uri } = note('refused');
  const stream = await fixture().subscribe(0, { ...filter, toolsListChanged: true });
  expect(await stream.message()).toBe(acknowledged('1', { toolsListChanged: true }));
  expect(await isWanted(uri)).toBe(false);
});

test('the bus reports once that its hook refuses topics for which no server asks', async () => {
  const { filter } = note('refused');
  await pause(500);
  await fixture().post(0, '/bus/reset');
  for (let count = 0; count < 2; count += 1) {
    // The bus of this server is created without `wanted`.
    const stream = await fixture().subscribeFlakily(0, { failures: 0 }, filter);
    expect(await stream.message()).toBe(acknowledged('1', filter));
  }
  const errors = () => fixture().bus<string[]>('hook-errors');
  await expect.poll(errors).toEqual([expect.stringContaining('with wanted: true')]);
  await fixture().subscribe(0, { toolsListChanged: true });
  await pause(1_000);
  expect(await errors()).toHaveLength(1);
});

test('a client that reconnects in time stops nothing', async () => {
  const { filter, uri } = note('reconnects');
  for (let round = 0; round < 2; round += 1) {
    const stream = await fixture().open(round, filter);
    expect(await isWanted(uri)).toBe(true);
    await pause(GRACE_MS);
    stream.drop();
    // The bus learns that the client has left, but not for as long as it takes to stop.
    await expect.poll(() => isWanted(uri), { interval: 20 }).toBe(false);
    // The bus collects changes of what is wanted for a quarter of a second.
    await pause(1_000);
  }
  const stream = await fixture().open(0, filter);
  await pause(2 * UNWANTED_MS);
  expect(await callsFor(uri)).toEqual(['+']);
  stream.drop();
});

test('the hooks run in the bus for the streams at its shards', async () => {
  const { filter, uri } = note('sharded');
  const streams = [];
  for (let edge = 0; edge < 3; edge += 1) streams.push(await fixture().open(edge, filter));
  expect((await fixture().bus<{ shards: unknown[] }>('stats')).shards.length).toBeGreaterThan(0);
  expect(await callsFor(uri)).toEqual(['+']);
  for (const stream of streams) stream.drop();
  await expect.poll(() => callsFor(uri), { timeout: 30_000 }).toEqual(['+', '-']);
});

test.each(['reset', 'hibernation'])(
  'the hook is called again after a %s of the bus, and then stops what is not wanted',
  async (how) => {
    const { filter, uri } = note(how);
    const stream = await fixture().open(0, filter);
    await pause(500);
    await (how === 'hibernation' ? fixture().hibernate() : fixture().post(0, '/bus/reset'));
    await fixture().publish(1, { kind: 'resource_updated', uri });
    await expect.poll(() => callsFor(uri)).toEqual(['+', 'again +']);
    stream.drop();
    await expect.poll(() => callsFor(uri), { timeout: 20_000 }).toEqual(['+', 'again +', '-']);
  },
);

test('one caller has an eighth of the room for topics, over all isolates', async () => {
  const uris = (name: string) =>
    ['one', 'two'].map((note) => `note://${name}-${note}`.padEnd(WANTED_BYTES / 40, 'x'));
  const as = (user: string) => ({ headers: { 'x-user': user } });
  const streams = [];
  for (const edge of [0, 1])
    streams.push(await fixture().open(edge, { resourceSubscriptions: uris(`${edge}`) }, as('ann')));
  const more = { toolsListChanged: true, resourceSubscriptions: uris('more') };
  const refused = await fixture().subscribe(0, more, as('ann'));
  expect(await refused.message()).toBe(acknowledged('1', { toolsListChanged: true }));
  streams.push(await fixture().open(1, more, as('ben')));
  for (const stream of streams) stream.drop();
});
