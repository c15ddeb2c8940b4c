import type { LookupAddress } from 'node:dns';
import { afterEach, expect, test, vi } from 'vitest';
import { checkedSender } from '../../../dist/node/events/checked-sender.js';
import { served } from '../../host/http-server.ts';

const lookups: LookupAddress[][] = [];
const asked: string[] = [];

vi.mock('node:dns/promises', () => ({
  lookup: async (host: string) => {
    asked.push(host);
    return lookups.shift() ?? [];
  },
}));

// Only a test may treat a loopback address as a public one: it has no other.
let isPublic = (address: string): boolean => address === '127.0.0.1';
vi.mock('../../../dist/wasm/events/bindings.js', () => ({
  isPublicAddress: (address: string) => isPublic(address),
}));

afterEach(() => {
  lookups.length = 0;
  asked.length = 0;
  isPublic = (address) => address === '127.0.0.1';
});

const GOOD = { address: '127.0.0.1', family: 4 };
const PRIVATE = { address: '127.0.0.2', family: 4 };

async function sent(host = 'hooks.example.com', isLocal = false) {
  const hosts: (string | undefined)[] = [];
  const origin = await served((request, response) => {
    hosts.push(request.headers.host);
    response.writeHead(302, { location: '/other', 'retry-after': '7' }).end('x'.repeat(9_000));
  });
  const url = origin.replace('127.0.0.1', host);
  const message = { url, headers: {}, body: new Uint8Array(2), isLocal, bodyBytes: 4_096 };
  const response = checkedSender.send({ ...message, signal: AbortSignal.timeout(20_000) });
  return { hosts, response, host: url.slice('http://'.length) };
}

test('a message goes to the address that was checked, and a redirect is not followed', async () => {
  // A second response would be private: a name is resolved once.
  lookups.push([GOOD], [PRIVATE]);
  const { host, hosts, response } = await sent();
  expect(await response).toEqual({ status: 302, retryAfter: '7', body: 'x'.repeat(4_096) });
  expect([hosts, asked]).toEqual([[host], ['hooks.example.com']]);
});

test.each([
  ['the only address', [PRIVATE]],
  ['one of several addresses', [GOOD, PRIVATE]],
])('nothing is sent to a name if %s is not public', async (_, lookup) => {
  lookups.push(lookup);
  const { hosts, response } = await sent();
  await expect(response).rejects.toThrow('not public');
  expect(hosts).toEqual([]);
});

test('nothing is sent to an address that is not public', async () => {
  isPublic = () => false;
  const { hosts, response } = await sent('127.0.0.1');
  await expect(response).rejects.toThrow('not public');
  expect(hosts).toEqual([]);
});

test('a name without an address is an error', async () => {
  const { response } = await sent();
  await expect(response).rejects.toThrow();
});

test('an endpoint on this machine is not checked', async () => {
  lookups.push([GOOD]);
  isPublic = () => false;
  const { response } = await sent('localhost', true);
  expect((await response).status).toBe(302);
});
