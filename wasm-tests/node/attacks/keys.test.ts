import { ListenError } from 'mcp-listen';
import { type JwtOptions, jwtAuthorizer } from 'mcp-listen/jwt';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { listChanged, WireStream } from '../../host/listen.ts';
import { listenRequest, serving, TOOLS } from '../serving.ts';
import { AUDIENCE, ISSUER, seconds, tokenIssuer } from '../token-issuer.ts';

const CUE = listChanged('1', 'tools');
const HOUR = 3_600_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'] }));
afterEach(() => void vi.useRealTimers());

/** A server that checks tokens of `issuer`, each time that something is delivered. */
async function guarded(more: Partial<JwtOptions> = {}) {
  const issuer = await tokenIssuer();
  const onError = vi.fn();
  const authorization = jwtAuthorizer({
    issuer: ISSUER,
    audience: AUDIENCE,
    jwks: issuer.jwks,
    ...more,
  });
  const server = serving({ ...authorization, onError, authorizationTtlMs: 1 });
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
  test('open streams go on by the last ones for an hour, and new listens get 503', async () => {
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

  test('open streams go on too where the host takes a connection and says nothing', async () => {
    const { issuer, server, stream } = await guarded();
    issuer.isSilent = true;
    later(601_000);
    await server.notify.toolsChanged();
    expect(await stream.message()).toBe(CUE);
  });

  test('open streams end where they may not go on by old keys', async () => {
    const { issuer, server, stream } = await guarded({ staleKeysMs: 0 });
    issuer.instead = { status: 503, body: '' };
    later(601_000);
    await server.notify.toolsChanged();
    expect(await stream.message()).toBeUndefined();
  });

  test('keys that are there again are the ones that count', async () => {
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
])('keys are not taken from %s', (jwks) => {
  expect(() => jwtAuthorizer({ issuer: ISSUER, audience: AUDIENCE, jwks })).toThrow(ListenError);
});

test.each([
  'https://login.example/jwks',
  'http://localhost:1/jwks',
  'http://[::1]/jwks',
  'http://127.0.0.1/',
])('keys may be at %s', (jwks) => {
  expect(jwtAuthorizer({ issuer: ISSUER, audience: AUDIENCE, jwks })).toBeDefined();
});

test.each([
  ['at+jwt', 200],
  ['application/at+jwt', 200],
  ['JWT', 401],
  [undefined, 401],
])('where access tokens have a type, one of the type %s is a %d', async (typ, status) => {
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
