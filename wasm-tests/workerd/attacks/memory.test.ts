import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Workerd } from '../../../scripts/workerd/workerd.mjs';
import { heapOf } from '../../faults/judgement/heap.ts';
import { Fixture, useFixture } from '../../host/fixture/fixture.ts';
import { startFixture } from '../../host/fixture/start.ts';
import {
  acknowledged,
  LISTEN_HEADERS,
  listenBody,
  updated,
  type WireStream,
} from '../../host/listen.ts';

describe.each([
  ['each', 1_000],
  ['auto', 600],
])('an attacker who fills the bus object, sockets: %s', (sockets, count) => {
  let workerd: Workerd;
  let fixture: Fixture;
  beforeAll(async () => {
    const text = { KEEP_ALIVE_MS: '2000', SOCKETS: sockets };
    workerd = await startFixture({
      bundle: inject('fixtureBundle'),
      edges: 2,
      text,
      inspected: true,
    });
    fixture = new Fixture(workerd);
  });
  afterAll(() => workerd?.stop());

  test('cannot exceed its budget with streams of 62 KB, and a small stream still opens', async () => {
    const small = await fixture.subscribe(1, NOTE);
    expect(await small.message()).toBe(acknowledged('1', NOTE));
    const opened: Response[] = [];
    const refused = new Map<number, string | null>();
    for (let first = 0; first < count; first += TOGETHER) {
      const numbers = Array.from({ length: TOGETHER }, (_, place) => first + place);
      const responses = await Promise.all(numbers.map((number) => openLarge(workerd, number)));
      for (const response of responses) {
        if (response.status === 200) opened.push(response);
        else refused.set(response.status, response.headers.get('retry-after'));
        if (response.status !== 200) await response.body?.cancel();
      }
    }
    // The budget is 24 MB beyond the reserved part of each stream.
    expect(opened.length).toBeGreaterThan(350);
    expect(opened.length).toBeLessThan(500);
    expect([...refused]).toEqual([[503, '2']]);
    const { core } = await fixture.bus<{ core: number }>('measures');
    const heap = await heapOf(workerd.inspector, () => fixture.bus('stats'), 'bus');
    expect(core + heap).toBeLessThan(60e6);
    // Open streams receive further events, and so does one more with a small filter.
    const later = await fixture.subscribe(0, NOTE, { id: '2' });
    expect(await later.message()).toBe(acknowledged('2', NOTE));
    await fixture.publish(0, { kind: 'resource_updated', uri: 'note://a' });
    expect(await small.message()).toBe(updated('1', 'note://a'));
    expect(await later.message()).toBe(updated('2', 'note://a'));
    expect((await fixture.stats(1)).outages).toBe(0);
    // Closed streams free their room.
    for (const response of opened) await response.body?.cancel();
    await expect
      .poll(async () => (await opens(workerd)) && 'opens', { timeout: 20_000 })
      .toBe('opens');
  }, 120_000);
});

describe('a shared connection with many names', () => {
  const fixture = useFixture({ SOCKETS: 'auto' });

  test('writes one row for one more stream', async () => {
    const streams: WireStream[] = [];
    const rows: number[] = [];
    const written = async (): Promise<number> =>
      (await fixture().bus<{ rows: number }>('measures')).rows;
    for (let number = 0; number < 16; number += 1) {
      const names = Array.from(
        { length: 250 },
        (_, place) => `note://${number}/${place}/${'x'.repeat(100)}`,
      );
      streams.push(await fixture().subscribe(0, { resourceSubscriptions: names }));
      expect(await streams.at(-1)?.message()).toContain('acknowledged');
    }
    for (const name of ['a', 'b', 'c']) {
      const before = await written();
      streams.push(await fixture().open(0, { resourceSubscriptions: [`note://${name}`] }));
      rows.push((await written()) - before);
    }
    expect(rows).toEqual([1, 1, 1]);
    expect(await fixture().bus('interests')).toBe(1);
    // All names survive hibernation: the first, those in between and the last.
    const wakes = await fixture().bus<number>('wakes');
    await fixture().hibernate();
    for (const number of [0, 7, 15]) {
      const uri = `note://${number}/9/${'x'.repeat(100)}`;
      await fixture().publish(1, { kind: 'resource_updated', uri });
      expect(await streams[number]?.message()).toBe(updated('1', uri));
    }
    await fixture().publish(1, { kind: 'resource_updated', uri: 'note://c' });
    expect(await streams.at(-1)?.message()).toBe(updated('1', 'note://c'));
    expect(await fixture().bus<number>('wakes')).toBe(wakes + 1);
  });
});

describe('an attacker who fills the isolate from one address', () => {
  const fixture = useFixture();
  const from = (address: string) => ({
    headers: { 'x-continent': 'EU', 'cf-connecting-ip': address },
  });

  test.each([
    ['an address', '203.0.113.7', '203.0.113.7', '203.0.113.8'],
    ['a network of 64 bits', '2001:db8:1:2::1', '2001:db8:1:2:ffff::9', '2001:db8:1:3::1'],
  ])(
    'may hold 256 streams from %s, and other addresses may open theirs',
    async (_what, address, same, other) => {
      const statuses: number[] = [];
      for (let count = 0; count < 256; count += 1) {
        const stream = await fixture().subscribe(0, TOOLS, from(count % 2 === 0 ? address : same));
        statuses.push(stream.response.status);
      }
      expect(new Set(statuses)).toEqual(new Set([200]));
      const { response } = await fixture().subscribe(0, TOOLS, from(same));
      expect([response.status, response.headers.get('retry-after')]).toEqual([429, '2']);
      expect((await fixture().subscribe(0, TOOLS, from(other))).response.status).toBe(200);
    },
  );

  test('cannot change its address by a header field', async () => {
    for (let count = 0; count <= 256; count += 1) {
      const headers = { 'cf-connecting-ip': '203.0.113.9' };
      const stream = await fixture().subscribe(0, TOOLS, { headers });
      expect(stream.response.status).toBe(200);
    }
  });
});

/** Opens a stream with 62 KB of names, at a server that does not bound them itself. */
function openLarge({ edges }: Workerd, number: number): Promise<Response> {
  const names = Array.from(
    { length: 31 },
    (_, place) => `note://${number}/${place}/${'x'.repeat(1_980)}`,
  );
  const options = encodeURIComponent(JSON.stringify({ limits: { namesBytes: 1e9 } }));
  const body = listenBody({ resourceSubscriptions: names });
  const init = { method: 'POST', headers: LISTEN_HEADERS, body };
  return fetch(`${edges[number % edges.length]}/with?options=${options}`, init);
}

async function opens(workerd: Workerd): Promise<boolean> {
  const response = await openLarge(workerd, LAST);
  await response.body?.cancel();
  return response.status === 200;
}

const LAST = 9_999;
const TOGETHER = 20;
const NOTE = { resourceSubscriptions: ['note://a'] };
const TOOLS = { toolsListChanged: true };
