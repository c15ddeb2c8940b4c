import 'mcp-listen'; // loads the core
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { TtlCache } from '../../../dist/cloudflare/gateway/ttl-cache.js';
import { UpstreamAdmission } from '../../../dist/cloudflare/gateway/upstream/principal.js';
import { UpstreamServer } from '../../../dist/cloudflare/gateway/upstream/server.js';
import type { FetchHandler } from '../../../dist/handler/handler.js';
import { Credentials } from '../../../dist/web/credentials.js';

vi.mock('cloudflare:workers', () => ({ waitUntil: () => {} }));

type Fields = Record<string, string>;

/** The admission at a server. */
function admissionOf(server: FetchHandler, further: string[] = []): UpstreamAdmission {
  const limits = { responseBytes: 10_000, responseMs: 1_000 };
  return new UpstreamAdmission(new UpstreamServer(server, new Credentials(further), limits), false);
}

/** A result of `server/discover`, which is also one of `initialize`. */
function admitting(): Response {
  const result = { supportedVersions: ['2026-07-28'], capabilities: {} };
  return Response.json({ jsonrpc: '2.0', id: 'mcp-listen:discover', result });
}

/** The admission at a server that serves requests with certain credentials. */
function admissionAt(isServed: (headers: Headers) => boolean, further: string[] = []) {
  const counts = { requests: 0 };
  /** The status of requests whose caller is not served. */
  const refusal = { status: 401 };
  const admission = admissionOf(async ({ headers }) => {
    counts.requests += 1;
    return isServed(headers) ? admitting() : new Response(null, refusal);
  }, further);
  return {
    counts,
    refusal,
    nameOf: (headers: Fields) => admission.nameOf(requestOf(headers)),
    callerOf: (headers: Fields, path?: string) => admission.principal(requestOf(headers, path)),
  };
}

/** An `initialize`, which the gateway forwards without admission if it can. */
function requestOf(headers: Fields, path = '/mcp'): Request {
  return new Request(`http://gateway.test${path}`, { method: 'POST', headers });
}

const isBob = (headers: Headers) => headers.get('authorization') === 'Bearer bob';
const hasKey = (headers: Headers) => headers.get('x-api-key') === 'mine';
const requiresBoth = (headers: Headers) => hasKey(headers) && isBob(headers);
const cookiesOf = (headers: Headers) => headers.get('cookie')?.split(/;\s*/) ?? [];
const hasCookie = (headers: Headers) => cookiesOf(headers).includes('sid=mine');
const BOB = { authorization: 'Bearer bob' };
const KEY = { 'x-api-key': 'mine' };
const MINE = { cookie: 'sid=mine' };
const JUNK = Array.from({ length: 20 }, (_, number) => ({ authorization: `Bearer ${number}` }));

describe('a caller has one name, however it varies', () => {
  test('a token beside the key that the server requires', async () => {
    const { callerOf, nameOf } = admissionAt(hasKey, ['X-API-Key']);
    const names = await Promise.all(JUNK.map((junk) => callerOf({ ...KEY, ...junk })));
    expect(new Set(names)).toEqual(new Set([await callerOf(KEY)]));
    expect(names[0]).toMatch(/^[\w-]{43}$/);
    expect(await nameOf({ ...KEY, authorization: 'Bearer other' })).toBe(names[0]);
  });

  test('a key beside the token that the server requires', async () => {
    const { callerOf } = admissionAt(isBob, ['X-API-Key']);
    const names = [
      await callerOf({ ...BOB, 'x-api-key': '1' }),
      await callerOf({ ...BOB, 'x-api-key': '2' }),
    ];
    expect(names).toEqual([await callerOf(BOB), await callerOf(BOB)]);
  });

  test('words after the token, if the server does not read them', async () => {
    const { callerOf } = admissionAt(
      (headers) => headers.get('authorization')?.split(/ +/)[1] === 'bob',
    );
    for (const more of ['1', '2 3'])
      expect(await callerOf({ authorization: `Bearer bob ${more}` })).toBe(await callerOf(BOB));
  });

  test('a token beside a cookie that names no caller', async () => {
    const { callerOf } = admissionAt(hasCookie);
    for (const junk of JUNK) expect(await callerOf({ ...MINE, ...junk })).toBeUndefined();
  });

  test.each([
    ['sid=mine; x=1'],
    ['x=2;sid=mine'],
    ['a=1; b=2; c=3; sid=mine; d=4; e=5'],
    ['sid=mine; sid=other'],
  ])('cookies beside the one that the server requires: %s', async (cookie) => {
    const { callerOf } = admissionAt(hasCookie, ['Cookie']);
    const name = await callerOf(MINE);
    expect(name).toMatch(/^[\w-]{43}$/);
    expect(await callerOf({ cookie })).toBe(name);
  });

  test.each([['sid="mine"'], ['sid=%6Dine'], ['sid= mine'], ['sid=%6d%69ne']])(
    'the spelling of a cookie: %s',
    async (cookie) => {
      const { callerOf } = admissionAt((headers) => headers.has('cookie'), ['Cookie']);
      expect(await callerOf({ cookie })).toBe(await callerOf(MINE));
    },
  );
});

describe('the name of a caller', () => {
  test('is made of all credentials if the server requires them all', async () => {
    const { callerOf } = admissionAt(
      (headers) => hasKey(headers) && headers.has('authorization'),
      ['X-API-Key'],
    );
    const ann = await callerOf({ ...KEY, authorization: 'Bearer ann' });
    expect(ann).not.toBe(await callerOf({ ...KEY, ...BOB }));
    expect(ann).toBe(await callerOf({ ...KEY, authorization: 'bearer  ann', cookie: 'lb=1' }));
  });

  test('is that of the key if the server requires either of two', async () => {
    const { callerOf } = admissionAt((headers) => hasKey(headers) || isBob(headers), ['X-API-Key']);
    expect(await callerOf({ ...KEY, ...BOB })).toBe(await callerOf(KEY));
  });

  test('is that of the token if a session cookie would be enough', async () => {
    const { callerOf } = admissionAt((headers) => hasCookie(headers) || isBob(headers));
    expect(await callerOf({ ...BOB, ...MINE })).toBe(await callerOf(BOB));
  });

  test('does not depend on the order of cookies', async () => {
    const { callerOf } = admissionAt(
      (headers) => hasCookie(headers) && cookiesOf(headers).includes('b=1'),
      ['Cookie'],
    );
    const name = await callerOf({ cookie: 'b=1; sid=mine' });
    expect(name).toMatch(/^[\w-]{43}$/);
    expect(await callerOf({ cookie: 'sid=mine; b=1' })).toBe(name);
  });

  test('stays while the server is unavailable', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const { callerOf, refusal } = admissionAt(requiresBoth, ['X-API-Key']);
    const name = await callerOf({ ...KEY, ...BOB });
    expect(name).toMatch(/^[\w-]{43}$/);
    vi.advanceTimersByTime(61_000);
    refusal.status = 503;
    expect(await callerOf({ ...KEY, ...BOB })).toBe(name);
  });

  test.each([429, 502, 503, 504])(
    'is not known if the server responds with %i without a credential',
    async (status) => {
      const { callerOf, refusal } = admissionAt(requiresBoth, ['X-API-Key']);
      refusal.status = status;
      await expect(callerOf({ ...KEY, ...BOB })).rejects.toThrow(
        expect.objectContaining({ code: 'authorizer-failed' }),
      );
    },
  );
});

describe('the requests to the server', () => {
  test('are few if a load balancer changes its cookie', async () => {
    const { callerOf, counts } = admissionAt(isBob);
    for (let turn = 0; turn < 10; turn += 1) await callerOf({ ...BOB, cookie: `lb=${turn}` });
    // One for each set of credentials, one without any, and one without the cookie.
    expect(counts.requests).toBe(12);
  });

  test('are few if one of 32 cookies is required', async () => {
    const { callerOf, counts } = admissionAt(hasCookie, ['Cookie']);
    const others = Array.from({ length: 31 }, (_, number) => `c${number}=1`);
    const cookie = [...others, 'sid=mine'].join('; ');
    expect(await callerOf({ cookie })).toBe(await callerOf(MINE));
    expect(counts.requests).toBeLessThanOrEqual(12);
  });

  test('are one for a caller that is denied', async () => {
    const { callerOf, counts, nameOf } = admissionAt(() => false, ['Cookie']);
    const cookie = Array.from({ length: 32 }, (_, number) => `c${number}=1`).join('; ');
    expect(await callerOf({ cookie })).toEqual({ denied: 401 });
    expect(counts.requests).toBe(1);
    expect(await nameOf({ cookie })).toMatch(/^[\w-]{43}$/);
    expect(counts.requests).toBe(2);
  });

  test('are not sent for 33 cookies', async () => {
    const { counts, nameOf } = admissionAt(hasCookie, ['Cookie']);
    const cookie = Array.from({ length: 33 }, (_, number) => `c${number}=1`).join('; ');
    await expect(nameOf({ cookie })).rejects.toThrow(
      expect.objectContaining({ code: 'authorizer-failed' }),
    );
    expect(counts.requests).toBe(0);
  });
});

describe('words after a token', () => {
  const saying = (words: number) => ({
    authorization: `Bearer bob ${Array.from({ length: words }, (_, word) => `w${word}`).join(' ')}`,
  });
  const isRead = (headers: Headers) => headers.get('authorization')?.split(/ +/)[1] === 'bob';

  test('cause few requests to the server: two are tried', async () => {
    const { callerOf, counts } = admissionAt(isRead);
    expect(await callerOf(saying(2))).toBe(await callerOf(BOB));
    expect(counts.requests).toBeLessThanOrEqual(8);
  });

  test('cause none but that of admission if there are more than two', async () => {
    const { callerOf, counts, nameOf } = admissionAt(isRead);
    const refused = expect.objectContaining({ code: 'authorizer-failed' });
    await expect(nameOf(saying(3))).rejects.toThrow(refused);
    expect(counts.requests).toBe(0);
    await expect(callerOf(saying(30))).rejects.toThrow(refused);
    expect(counts.requests).toBe(1);
  });
});

describe('a caller whose credentials vary all the time', () => {
  const varied = (number: number) => ({ ...BOB, 'x-api-key': `${number}` });
  /** Returns how many requests of a caller are admitted, of up to a thousand that differ. */
  const admitted = async (call: (number: number) => Promise<unknown>) => {
    for (let number = 0; number < 1_000; number += 1)
      if ((await call(number).catch((error) => error)) instanceof Error) return number;
    return 1_000;
  };

  test('causes 300 requests a minute beside those of admission', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const { callerOf, counts } = admissionAt(isBob, ['X-API-Key']);
    const bob = await callerOf(BOB);
    const before = counts.requests;
    // Each causes one for its admission, and one with the key alone.
    expect(await admitted((number) => callerOf(varied(number)))).toBe(299);
    const refused = expect.objectContaining({ code: 'authorizer-failed' });
    for (let more = 0; more < 20; more += 1)
      await expect(callerOf(varied(1_000 + more))).rejects.toThrow(refused);
    expect(counts.requests - before).toBe(300 + 300 + 20);
    // Results that are remembered still count.
    expect([await callerOf(BOB), await callerOf(varied(0))]).toEqual([bob, bob]);
    vi.advanceTimersByTime(60_000);
    expect(await callerOf(varied(2_000))).toBe(bob);
  });

  test('does not use up those of others who share a credential with it', async () => {
    const tenant = { 'x-tenant': 'acme' };
    const isServed = (headers: Headers) =>
      headers.get('x-tenant') === 'acme' &&
      /^Bearer (ann|bob)$/.test(headers.get('authorization') ?? '');
    const { callerOf } = admissionAt(isServed, ['X-API-Key', 'X-Tenant']);
    const ann = { ...tenant, authorization: 'Bearer ann' };
    const name = await callerOf(ann);
    const count = await admitted((number) => callerOf({ ...tenant, ...varied(number) }));
    expect(count).toBeLessThan(1_000);
    expect(await callerOf({ ...ann, 'x-api-key': 'a' })).toBe(name);
  });
});

test('what is remembered about callers has short keys, however long their URLs are', async () => {
  const set = vi.spyOn(TtlCache.prototype, 'set');
  onTestFinished(() => set.mockRestore());
  const long = 'a'.repeat(15_000);
  const { callerOf } = admissionAt(isBob, ['X-API-Key']);
  for (const path of [`/mcp?${long}`, `/${long}/mcp`]) {
    await callerOf(JUNK[0] ?? {}, path);
    await callerOf({ ...BOB, ...KEY }, path);
  }
  expect(set.mock.calls.length).toBeGreaterThan(4);
  for (const [key] of set.mock.calls) expect(key.length).toBeLessThanOrEqual(64);
});

/** The admission at a server that knows certain methods, and the methods that it gets. */
function admissionWhere(isKnown: (method: string, request: Request) => boolean) {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const asked: string[] = [];
  const admission = admissionOf(async (request) => {
    const { method } = (await request.json()) as { method: string };
    asked.push(method);
    return isKnown(method, request) ? admitting() : new Response(null, { status: 404 });
  });
  return { admission, asked };
}

test('a caller for whom a server does not know server/discover changes nothing for others', async () => {
  const isOdd = (request: Request) => request.headers.get('authorization') === 'Bearer odd';
  const { admission, asked } = admissionWhere((method, request) => {
    return method === 'initialize' || !isOdd(request);
  });
  const principalOf = (token: string) =>
    admission.principal(
      requestOf({ 'mcp-protocol-version': '2026-07-28', authorization: `Bearer ${token}` }),
    );
  await principalOf('bob');
  const refused = expect.objectContaining({ code: 'discover-failed' });
  await expect(principalOf('odd')).rejects.toThrow(refused);
  await principalOf('ann');
  expect(new Set(asked)).toEqual(new Set(['server/discover']));
  // A server that has been replaced by one of 2025 is asked with `initialize` after five minutes.
  vi.advanceTimersByTime(300_001);
  await principalOf('odd');
  expect(asked.at(-1)).toBe('initialize');
});

test('five minutes after a server did not know server/discover, it is asked again', async () => {
  const { admission, asked } = admissionWhere(() => asked.length > 1);
  for (let minute = 0; minute < 7; minute += 1) {
    const request = requestOf({ 'mcp-protocol-version': '2026-07-28' });
    expect(await admission.principal(request)).toBeUndefined();
    vi.advanceTimersByTime(60_000);
  }
  const initialized = Array.from({ length: 5 }, () => 'initialize');
  expect(asked).toEqual(['server/discover', ...initialized, 'server/discover', 'server/discover']);
});
