import type { LookupAddress } from 'node:dns';
import { afterEach, expect, test, vi } from 'vitest';
import { checkedSender } from '../../../dist/node/events/checked-sender.js';
import { served } from '../../host/http-server.ts';

/** What the name servers find for names in turn: addresses, or the code of an error. */
const records: (LookupAddress[] | string)[] = [];
/** What lookups of the system find in turn. */
const lookups: Promise<LookupAddress[]>[] = [];
const asked: string[] = [];

vi.mock('node:dns/promises', () => ({
  Resolver: class {
    readonly #record = records.shift() ?? 'ENOTFOUND';
    readonly #cancelled = Promise.withResolvers<never>();
    readonly cancel = () => this.#cancelled.reject(failure('ECANCELLED'));

    readonly resolve4 = (host: string) => {
      asked.push(host);
      return this.resolve6(host, 4);
    };

    readonly resolve6 = async (_host: string, family = 6): Promise<string[]> => {
      if (this.#record === 'SILENCE') return this.#cancelled.promise;
      if (typeof this.#record === 'string') throw failure(this.#record);
      const found = this.#record.filter((one) => one.family === family);
      if (found.some(({ address }) => address === 'SILENCE')) return this.#cancelled.promise;
      if (found.length === 0) throw failure('ENODATA');
      return found.map(({ address }) => address);
    };
  },
  lookup: async (host: string) => {
    asked.push(`${host} of the system`);
    return lookups.shift() ?? [];
  },
}));

function failure(code: string): Error {
  return Object.assign(new Error(code), { code });
}

// Only a test may treat a loopback address as a public one: it has no other.
let isPublic = (address: string): boolean => address === '127.0.0.1';
vi.mock('../../../dist/wasm/events/bindings.js', () => ({
  isPublicAddress: (address: string) => isPublic(address),
}));

afterEach(() => {
  records.length = 0;
  lookups.length = 0;
  asked.length = 0;
  isPublic = (address) => address === '127.0.0.1';
});

const GOOD = { address: '127.0.0.1', family: 4 };
const PRIVATE = { address: '127.0.0.2', family: 4 };
const PRIVATE_IPV6 = { address: '::1', family: 6 };
const HOST = 'hooks.example.com';
const OF_SYSTEM = `${HOST} of the system`;

async function sent(host = HOST, { isLocal = false, signal = AbortSignal.timeout(20_000) } = {}) {
  const hosts: (string | undefined)[] = [];
  const origin = await served((request, response) => {
    hosts.push(request.headers.host);
    response.writeHead(302, { location: '/other', 'retry-after': '7' }).end('x'.repeat(9_000));
  });
  const url = origin.replace('127.0.0.1', host);
  const message = { url, headers: {}, body: new Uint8Array(2), isLocal, bodyBytes: 4_096 };
  const response = checkedSender.send({ ...message, signal });
  return { hosts, response, host: url.slice('http://'.length) };
}

test('a message goes to the address that was checked, and a redirect is not followed', async () => {
  // A second response would be private: a name is resolved once.
  records.push([GOOD], [PRIVATE]);
  const { host, hosts, response } = await sent();
  expect(await response).toEqual({ status: 302, retryAfter: '7', body: 'x'.repeat(4_096) });
  expect([hosts, asked]).toEqual([[host], [HOST]]);
});

test.each([
  ['the only address', [PRIVATE]],
  ['one of several addresses', [GOOD, PRIVATE]],
  ['one of another family', [GOOD, PRIVATE_IPV6]],
])('nothing is sent to a name if %s is not public', async (_, found) => {
  records.push(found);
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
  lookups.push(Promise.resolve([GOOD]));
  isPublic = () => false;
  const { response } = await sent('localhost', { isLocal: true });
  expect((await response).status).toBe(302);
});

test('a name that the name servers do not find is looked up as the system does, and checked', async () => {
  lookups.push(Promise.resolve([GOOD]), Promise.resolve([GOOD, PRIVATE]));
  const { response } = await sent();
  expect((await response).status).toBe(302);
  await expect((await sent()).response).rejects.toThrow('not public');
  expect(asked).toEqual([HOST, OF_SYSTEM, HOST, OF_SYSTEM]);
});

test('a name whose servers do not respond takes no lookup of the system', async () => {
  records.push('ETIMEOUT');
  await expect((await sent()).response).rejects.toThrow('ETIMEOUT');
  expect(asked).toEqual([HOST]);
});

test('a message that is aborted cancels the lookup of its name', async () => {
  records.push('SILENCE');
  const abort = new AbortController();
  const { response } = await sent(HOST, { signal: abort.signal });
  abort.abort();
  await expect(response).rejects.toThrow('ECANCELLED');
  expect(asked).toEqual([HOST]);
});

test('of the names that the system looks up, one takes a thread at a time', async () => {
  const first = Promise.withResolvers<LookupAddress[]>();
  lookups.push(first.promise, Promise.resolve([GOOD]));
  const abort = new AbortController();
  const slow = await sent('slow.example.com');
  const aborted = await sent('aborted.example.com', { signal: abort.signal });
  const next = await sent();
  const ofSystem = () => asked.filter((host) => host.endsWith('of the system'));
  await expect.poll(() => asked.length).toBe(4);
  await new Promise((resolve) => setImmediate(resolve));
  expect(ofSystem()).toEqual(['slow.example.com of the system']);
  abort.abort();
  first.resolve([PRIVATE]);
  await expect(slow.response).rejects.toThrow('not public');
  await expect(aborted.response).rejects.toThrow();
  expect((await next.response).status).toBe(302);
  expect(ofSystem()).toEqual(['slow.example.com of the system', OF_SYSTEM]);
});

test('an address of one family is used after a second without a response for the other', async () => {
  records.push([GOOD, { address: 'SILENCE', family: 6 }]);
  const { response } = await sent();
  expect((await response).status).toBe(302);
});
