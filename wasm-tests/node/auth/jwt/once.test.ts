import type { AuthorizeContext } from 'mcp-listen';
import { jwtAuthorizer } from 'mcp-listen/jwt';
import { afterEach, expect, test, vi } from 'vitest';
import { LegacySession } from '../../../host/legacy.ts';
import { listChanged } from '../../../host/listen.ts';
import { open, serving, TOOLS, URL } from '../../serving.ts';
import { sessionServer } from '../../sessions/serving.ts';
import { AUDIENCE, ISSUER, seconds, type TokenIssuer, tokenIssuer } from './token-issuer.ts';

afterEach(() => void vi.restoreAllMocks());

const TTL_MS = 50;

function authorizerOf({ find }: TokenIssuer) {
  return jwtAuthorizer({ issuer: ISSUER, audience: AUDIENCE, jwks: find });
}

/** Counts the signatures that are verified from now on. */
function verifications() {
  return vi.spyOn(crypto.subtle, 'verify');
}

async function opened(issuer: TokenIssuer, token: string) {
  const server = serving({
    ...authorizerOf(issuer),
    authorizationTtlMs: TTL_MS,
    onError: () => {},
  });
  const headers = { authorization: `Bearer ${token}` };
  const stream = await open(server, TOOLS, { headers });
  expect(stream.response.status).toBe(200);
  await stream.message();
  return { server, stream };
}

/** Waits until the results of `principal` and `authorize` have expired. */
async function outdated(): Promise<void> {
  const from = performance.now();
  await expect.poll(() => performance.now() - from).toBeGreaterThan(TTL_MS);
}

test('a token is verified once per listen, and once per authorizationTtlMs', async () => {
  const issuer = await tokenIssuer();
  const verify = verifications();
  const { server, stream } = await opened(issuer, await issuer.token());
  expect(verify).toHaveBeenCalledTimes(1);
  for (const times of [2, 3]) {
    await outdated();
    await server.notify.toolsChanged();
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    expect(verify).toHaveBeenCalledTimes(times);
  }
});

test('a stream ends when the key of its token is withdrawn', async () => {
  const issuer = await tokenIssuer();
  let keys = issuer.keys;
  const { importJWK } = await import('jose');
  const jwks = ({ kid }: { kid?: string }) => {
    const known = keys.find((key) => key.kid === kid);
    return known === undefined
      ? Promise.reject(new Error('unknown key'))
      : importJWK(known, 'ES256');
  };
  const authorization = jwtAuthorizer({ issuer: ISSUER, audience: AUDIENCE, jwks: jwks as never });
  const server = serving({ ...authorization, authorizationTtlMs: TTL_MS, onError: () => {} });
  const headers = { authorization: `Bearer ${await issuer.token()}` };
  const stream = await open(server, TOOLS, { headers });
  await stream.message();
  keys = [];
  await outdated();
  await server.notify.toolsChanged();
  expect(await stream.message()).toBeUndefined();
  expect(server.stats()).toMatchObject({ notifications: 0, ended: { denied: 1 } });
});

test('a token is verified once per request of a session', async () => {
  const issuer = await tokenIssuer();
  const authorization = `Bearer ${await issuer.token()}`;
  const { server } = sessionServer(authorizerOf(issuer));
  const asking = (init: RequestInit) =>
    server.fetch(new Request(URL, { ...init, headers: { ...init.headers, authorization } }));
  const session = await LegacySession.begin(asking);
  const verify = verifications();
  await session.ask('resources/subscribe', { uri: 'note://a' });
  expect(verify).toHaveBeenCalledTimes(1);
});

test('claims of another authorizer, and expired claims, are not trusted', async () => {
  const issuer = await tokenIssuer();
  const one = authorizerOf(issuer);
  const two = authorizerOf(issuer);
  const headers = { authorization: `Bearer ${await issuer.token({ exp: seconds(30) })}` };
  const request = () => new Request(AUDIENCE, { headers });
  const { claims } = (await one.principal(request())) as { claims: unknown };
  const asked: AuthorizeContext = {
    request: request(),
    args: [],
    principal: 'ann',
    requested: TOOLS,
    claims,
  };
  const verify = verifications();
  expect(await one.authorize(asked)).toMatchObject(TOOLS);
  expect(verify).not.toHaveBeenCalled();
  expect(await two.authorize(asked)).toMatchObject(TOOLS);
  expect(await one.authorize({ ...asked, claims: structuredClone(claims) })).toMatchObject(TOOLS);
  expect(verify).toHaveBeenCalledTimes(2);
  vi.useFakeTimers({ now: Date.now() + 31_000, toFake: ['Date'] });
  expect(await one.authorize(asked)).toMatchObject({ denied: 401 });
  vi.useRealTimers();
});
