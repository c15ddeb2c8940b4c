import { ListenError, type ListenTimeouts } from 'mcp-listen';
import { type JwtOptions, jwtAuthorizer } from 'mcp-listen/jwt';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { listChanged, WireStream } from '../../host/listen.ts';
import { AUDIENCE, ISSUER, seconds, tokenIssuer } from '../auth/jwt/token-issuer.ts';
import { listenRequest, serving, TOOLS } from '../serving.ts';

const CUE = listChanged('1', 'tools');
const HOUR = 3_600_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'] }));
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A server that verifies the token of a stream again before each delivery. */
async function guarded(more: Partial<JwtOptions> = {}, timeouts: ListenTimeouts = {}) {
  const issuer = await tokenIssuer();
  const onError = vi.fn();
  const authorization = jwtAuthorizer({
    issuer: ISSUER,
    audience: AUDIENCE,
    jwks: issuer.jwks,
    ...more,
  });
  const server = serving({ ...authorization, onError, authorizationTtlMs: 1, timeouts });
  const listen = async (header?: object) => {
    const token = await issuer.token({ exp: seconds(7_200) }, header);
    return server.fetch(listenRequest(TOOLS, { headers: { authorization: `Bearer ${token}` } }));
  };
  const stream = new WireStream(await listen(), new AbortController());
  await stream.message();
  return { issuer, listen, onError, server, stream };
}

const later = (ms: number): void => void vi.advanceTimersByTime(ms);

describe('while the keys of the issuer cannot be fetched', () => {
  test('open streams use the last keys for an hour, and new listens get 503', async () => {
    const { issuer, listen, server, stream } = await guarded();
    issuer.instead = { status: 503, body: '' };
    for (const age of [601_000, 31_000, HOUR - 633_000]) {
      later(age);
      await server.notify.toolsChanged();
      expect(await stream.message()).toBe(CUE);
      expect((await listen()).status).toBe(503);
    }
    later(2_000);
    await server.notify.toolsChanged();
    expect(await stream.message()).toBeUndefined();
    expect(server.stats()).toMatchObject({ open: 0, ended: { denied: 1 } });
  });

  test('open streams stay open where the host accepts a connection and never responds', async () => {
    const { issuer, server, stream } = await guarded();
    issuer.held = new Promise(() => {});
    later(601_000);
    await server.notify.toolsChanged();
    expect(await stream.message()).toBe(CUE);
  });

  test('open streams do not wait for keys that take long, which count once they arrive', async () => {
    // Nothing but the wait of the stream has a limit.
    vi.spyOn(AbortSignal, 'timeout').mockReturnValue(new AbortController().signal);
    const { issuer, listen, server, stream } = await guarded({}, { authorizeMs: 0 });
    const { promise, resolve } = Promise.withResolvers<void>();
    issuer.held = promise;
    later(601_000);
    await server.notify.toolsChanged();
    expect(await stream.message()).toBe(CUE);
    await issuer.rotate('second');
    resolve();
    expect((await listen()).status).toBe(200);
    later(2);
    await server.notify.toolsChanged();
    expect(await stream.message()).toBeUndefined();
  });

  test('open streams end with staleKeysMs: 0', async () => {
    const { issuer, server, stream } = await guarded({ staleKeysMs: 0 });
    issuer.instead = { status: 503, body: '' };
    later(601_000);
    await server.notify.toolsChanged();
    expect(await stream.message()).toBeUndefined();
  });

  test('new keys count as soon as the issuer responds again', async () => {
    const { issuer, server, stream } = await guarded();
    issuer.instead = { status: 503, body: '' };
    later(601_000);
    await server.notify.toolsChanged();
    expect(await stream.message()).toBe(CUE);
    delete issuer.instead;
    await issuer.rotate('second');
    later(31_000);
    await server.notify.toolsChanged();
    expect(await stream.message()).toBeUndefined();
  });
});

test.each([
  'http://login.example/jwks.json',
  'http://127.0.0.1.example/',
  'ftp://localhost/',
  'data:,{}',
  'keys',
])('a JWKS at %s is refused', (jwks) => {
  expect(() => jwtAuthorizer({ issuer: ISSUER, audience: AUDIENCE, jwks })).toThrow(ListenError);
});

test.each([
  'https://login.example/jwks',
  'http://localhost:1/jwks',
  'http://[::1]/jwks',
  'http://127.0.0.1/',
])('a JWKS at %s is accepted', (jwks) => {
  expect(jwtAuthorizer({ issuer: ISSUER, audience: AUDIENCE, jwks })).toBeDefined();
});

test.each([
  ['at+jwt', 200],
  ['application/at+jwt', 200],
  ['JWT', 401],
  [undefined, 401],
])('with typ: at+jwt, a token of the type %s gets %d', async (typ, status) => {
  const { issuer } = await guarded();
  const authorization = jwtAuthorizer({
    issuer: ISSUER,
    audience: AUDIENCE,
    jwks: issuer.jwks,
    typ: 'at+jwt',
  });
  const token = await issuer.token({}, typ === undefined ? {} : { typ });
  const request = listenRequest(TOOLS, { headers: { authorization: `Bearer ${token}` } });
  const response = await serving({ ...authorization }).fetch(request);
  expect(response.status).toBe(status);
  const challenge = response.headers.get('www-authenticate') ?? '';
  expect(challenge.includes('error_description="The token has another type"')).toBe(status === 401);
});
