import { describe, expect, test } from 'vitest';
import { listenRequest, serving } from '../serving.ts';

/** Bytes that each name counts beside its own. */
const NAME = 64;

/** A filter whose names count `bytes` in all. */
function counting(bytes: number, mark = 'a'): object {
  const uris: string[] = [];
  for (let left = bytes; left > 0; left -= 2_000) {
    const size = left < 2_000 + NAME + 10 ? left : 2_000;
    uris.push(`${mark}${uris.length}`.padEnd(size - NAME, 'x'));
    if (size === left) break;
  }
  return { resourceSubscriptions: uris };
}

/** A caller may take an eighth, 10,000 bytes; 1,000 are reserved for each stream. */
const LIMITS = { namesBytes: 80_000, maxSubscriptions: 40 };

describe('namesBytes', () => {
  test.each([
    [9_999, 200],
    [10_000, 200],
    [10_001, 429],
  ])('bounds one caller to an eighth: %i bytes', async (bytes, status) => {
    const server = serving({ limits: LIMITS, principal: () => 'a' });
    // The name of the caller counts, too.
    const response = await server.fetch(listenRequest(counting(bytes - NAME - 1)));
    expect(response.status).toBe(status);
    if (status === 429) expect(response.headers.get('retry-after')).toBe('2');
  });

  test('counts all streams of a caller until they end', async () => {
    const server = serving({ limits: LIMITS, principal: () => 'a' });
    const open = (mark: string) => server.fetch(listenRequest(counting(2_000 - NAME - 1, mark)));
    const streams = [];
    for (const mark of ['a', 'b', 'c', 'd', 'e']) streams.push(await open(mark));
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect((await open('f')).status).toBe(429);
    await streams[0]?.body?.cancel();
    expect((await open('f')).status).toBe(200);
    expect((await open('g')).status).toBe(429);
  });

  test('reserves room for small streams of other callers', async () => {
    let number = 0;
    const server = serving({
      limits: LIMITS,
      principal: () => {
        number += 1;
        return `caller ${number}`;
      },
    });
    const statuses = [];
    for (let count = 0; count < 8; count += 1) {
      const { status } = await server.fetch(listenRequest(counting(9_800, String(count))));
      statuses.push(status);
    }
    // Half of the budget is reserved.
    expect(statuses).toEqual([200, 200, 200, 200, 503, 503, 503, 503]);
    for (let count = 0; count < 36; count += 1) {
      const small = await server.fetch(listenRequest(counting(900, `small ${count}`)));
      expect(small.status).toBe(200);
    }
    expect(server.stats().open).toBe(40);
  });

  test('counts the names of groups', async () => {
    const groups = Array.from({ length: 6 }, (_, place) => `${place}`.padEnd(2_000, 'y'));
    const server = serving({ limits: LIMITS, principal: () => ({ name: 'a', groups }) });
    expect((await server.fetch(listenRequest({ toolsListChanged: true }))).status).toBe(429);
  });

  test('of 0 admits only streams without names', async () => {
    const server = serving({ limits: { namesBytes: 0 } });
    expect((await server.fetch(listenRequest({ toolsListChanged: true }))).status).toBe(200);
    const { status } = await server.fetch(listenRequest({ resourceSubscriptions: ['a'] }));
    expect(status).toBe(503);
  });
});

test.each([
  [1, 200],
  [2, 200],
  [3, 429],
])('with maxSubscriptionsPerAddress: 2, stream %i of an address gets %i', async (count, status) => {
  const server = serving({ limits: { maxSubscriptionsPerAddress: 2 } });
  const statuses = [];
  for (let number = 0; number < count; number += 1) {
    const request = listenRequest({ toolsListChanged: true });
    request.headers.set('cf-connecting-ip', '203.0.113.7');
    Object.defineProperty(request, 'cf', { value: { colo: 'AMS' } });
    statuses.push((await server.fetch(request)).status);
  }
  expect(statuses.at(-1)).toBe(status);
});

test('with clientAddress, callers without a name are counted by what it returns', async () => {
  const codes: unknown[] = [];
  const server = serving({
    limits: { maxSubscriptionsPerAddress: 1 },
    clientAddress: (request) => {
      const address = request.headers.get('x-real-ip');
      if (address === 'broken') throw new Error('broken');
      return address ?? undefined;
    },
    onError: (error) => codes.push((error as { code?: unknown }).code),
  });
  const statusFrom = async (address: string) => {
    const request = listenRequest({ toolsListChanged: true });
    request.headers.set('x-real-ip', address);
    // A client can claim any address.
    request.headers.set('cf-connecting-ip', crypto.randomUUID());
    Object.defineProperty(request, 'cf', { value: { colo: 'AMS' } });
    return (await server.fetch(request)).status;
  };
  const addresses = ['203.0.113.7', '203.0.113.7', '203.0.113.8', '2001:db8::1', '2001:DB8::2'];
  const statuses = [];
  for (const address of addresses) statuses.push(await statusFrom(address));
  expect(statuses).toEqual([200, 429, 200, 200, 429]);
  // Without a known address there is no limit for each.
  for (let count = 0; count < 2; count += 1) expect(await statusFrom('broken')).toBe(200);
  const list = '203.0.113.7, 198.51.100.2';
  for (let count = 0; count < 2; count += 1) expect(await statusFrom(list)).toBe(200);
  expect(codes).toEqual(Array(4).fill('authorizer-failed'));
  // Each connection has a port of its client.
  const ports = ['203.0.113.9:1024', '203.0.113.9:1025', '[2001:db8:1::1]:1', '[2001:db8:1::1]:2'];
  const counted = [];
  for (const address of ports) counted.push(await statusFrom(address));
  expect(counted).toEqual([200, 429, 200, 429]);
});

test('a client with the addresses of an IPv6 /48 leaves three quarters of the streams', async () => {
  const server = serving({
    limits: { maxSubscriptions: 8, maxSubscriptionsPerAddress: 1 },
    clientAddress: (request) => request.headers.get('x-real-ip') ?? undefined,
    principal: (request) => request.headers.get('authorization') ?? undefined,
  });
  const openFrom = (address: string, token?: string) => {
    const request = listenRequest({ toolsListChanged: true });
    request.headers.set('x-real-ip', address);
    if (token !== undefined) request.headers.set('authorization', token);
    return server.fetch(request);
  };
  const first = await openFrom('2001:db8:1:1::1');
  expect([first.status, (await openFrom('2001:db8:1:2::1')).status]).toEqual([200, 200]);
  expect((await openFrom('2001:db8:1:3::1')).status).toBe(429);
  // Others are not of that site.
  expect((await openFrom('2001:db8:2:1::1')).status).toBe(200);
  expect((await openFrom('203.0.113.7')).status).toBe(200);
  expect((await openFrom('2001:db8:1:3::1', 'ann')).status).toBe(200);
  await first.body?.cancel();
  expect((await openFrom('2001:db8:1:3::1')).status).toBe(200);
});

test('a named caller counts by its name, not by its address', async () => {
  const server = serving({ limits: { maxSubscriptionsPerAddress: 0 }, principal: () => 'ann' });
  const request = listenRequest({ toolsListChanged: true });
  request.headers.set('cf-connecting-ip', '203.0.113.7');
  Object.defineProperty(request, 'cf', { value: { colo: 'AMS' } });
  expect((await server.fetch(request)).status).toBe(200);
});
