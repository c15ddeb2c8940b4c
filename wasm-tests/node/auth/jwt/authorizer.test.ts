import { createHmac } from 'node:crypto';
import { type CryptoKey, exportSPKI, importJWK } from 'jose';
import type { ListenHandlerOptions } from 'mcp-listen';
import { type JwtOptions, jwtAuthorizer } from 'mcp-listen/jwt';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { acknowledged, listChanged } from '../../../host/listen.ts';
import { listenRequest, serving, streamOf, TOOLS } from '../../serving.ts';
import {
  AUDIENCE,
  claimsOf,
  ISSUER,
  seconds,
  type TokenIssuer,
  tokenIssuer,
} from './token-issuer.ts';

afterEach(() => void vi.useRealTimers());

const METADATA = 'resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp"';

function guarded(jwks: JwtOptions['jwks'], more: Partial<JwtOptions & ListenHandlerOptions> = {}) {
  const errors: Error[] = [];
  const authorization = jwtAuthorizer({ issuer: ISSUER, audience: AUDIENCE, jwks, ...more });
  const server = serving({ ...authorization, onError: (error) => errors.push(error), ...more });
  const listen = (token: string | undefined, filter: object = TOOLS) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return server.fetch(listenRequest(filter, { headers }));
  };
  return { errors, listen, server };
}

/** The status and challenge of a response. */
function challengeOf({ headers, status }: Response) {
  return { status, challenge: headers.get('www-authenticate') };
}

/** The response to a token that is refused for this reason. */
function invalid(why: string) {
  return {
    status: 401,
    challenge: `Bearer error="invalid_token", error_description="${why}", ${METADATA}`,
  };
}

/** A token without a signature, or one that is signed with `secret`. */
function forged(alg: string, kid: string, secret?: string): string {
  const hash = alg.replace('HS', 'sha');
  const parts = [{ alg, kid }, claimsOf()].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const signed = parts.join('.');
  if (secret === undefined) return `${signed}.`;
  return `${signed}.${createHmac(hash, secret).update(signed).digest('base64url')}`;
}

test('a caller receives the part of its filter that its token allows', async () => {
  const issuer = await tokenIssuer();
  const { listen } = guarded(issuer.find);
  const resourceSubscriptions = ['note://a', 'note://b', 'note://ann/1', 'note://ann'];
  const filter = { ...TOOLS, promptsListChanged: true, resourceSubscriptions };
  const stream = await streamOf(await listen(await issuer.token(), filter));
  const honored = { ...TOOLS, resourceSubscriptions: ['note://a', 'note://ann/1'] };
  expect(JSON.parse((await stream.message()) ?? '')).toEqual(
    JSON.parse(acknowledged('1', honored)),
  );
});

test('the principal is the subject of the token, until the token expires', async () => {
  const issuer = await tokenIssuer();
  const exp = seconds(60);
  const authorization = `bearer  ${await issuer.token({ exp })}`;
  const options = { issuer: ISSUER, audience: AUDIENCE, jwks: issuer.find };
  const request = () => new Request(AUDIENCE, { headers: { authorization } });
  const { principal } = jwtAuthorizer(options);
  const claims = expect.objectContaining({ sub: 'ann', exp });
  expect(await principal(request())).toEqual({ name: 'ann', expiresAt: exp * 1_000, claims });
  const tolerant = jwtAuthorizer({ ...options, clockToleranceMs: 2_500 });
  expect(await tolerant.principal(request())).toEqual({
    name: 'ann',
    expiresAt: exp * 1_000 + 2_500,
    claims,
  });
});

test.each(['RS256', 'PS256', 'ES384', 'EdDSA'])(
  'a token that is signed with %s is accepted',
  async (algorithm) => {
    const issuer = await tokenIssuer(algorithm);
    const { listen } = guarded(new URL(issuer.jwks));
    await streamOf(await listen(await issuer.token()));
  },
);

test('a request without a bearer token gets a challenge with the metadata URL', async () => {
  const { listen, server } = guarded('http://localhost:1/none', {
    scopes: ['mcp:listen', 'mcp:more'],
  });
  const expected = { status: 401, challenge: `Bearer ${METADATA}, scope="mcp:listen mcp:more"` };
  expect(challengeOf(await listen(undefined))).toEqual(expected);
  for (const authorization of ['Basic YTpi', 'Bearer', 'Bearerx']) {
    expect(
      challengeOf(await server.fetch(listenRequest(TOOLS, { headers: { authorization } }))),
    ).toEqual(expected);
  }
});

describe('a token is refused', () => {
  const CASES: [why: string, claims: () => object, description: string][] = [
    ['for another audience', () => ({ aud: `${AUDIENCE}/` }), 'The token is for another audience'],
    ['for no audience', () => ({ aud: undefined }), 'The token is for another audience'],
    ['of another issuer', () => ({ iss: `${ISSUER}/` }), 'The token was issued by another issuer'],
    ['that has expired', () => ({ exp: seconds(-1) }), 'The token has expired'],
    ['without an expiry', () => ({ exp: undefined }), 'The token has no expiration time'],
    ['that is not valid yet', () => ({ nbf: seconds(30) }), 'The token is not valid yet'],
    ['without a subject', () => ({ sub: undefined }), 'The token has no subject'],
    ['with an empty subject', () => ({ sub: '' }), 'The token has no subject'],
    ['with a number as its subject', () => ({ sub: 7 }), 'The token has no subject'],
  ];

  test.each(CASES)('%s', async (_, claims, description) => {
    const issuer = await tokenIssuer();
    const { errors, listen, server } = guarded(issuer.find);
    expect(challengeOf(await listen(await issuer.token(claims())))).toEqual(invalid(description));
    expect(errors).toEqual([]);
    expect(server.stats()).toMatchObject({ opened: 0, refused: { unauthorized: 1 } });
  });

  const FORGERIES: [why: string, token: (issuer: TokenIssuer) => Promise<string> | string][] = [
    ['without a signature', () => forged('none', 'first')],
    [
      'that is signed with the public key as a secret',
      async ({ keys }) => forged('HS256', 'first', await pem(keys[0])),
    ],
    ['of an unknown key', ({ token }) => token({}, { kid: 'second' })],
    ['of another key', async ({ token }) => `${(await token()).slice(0, -8)}AAAAAAAA`],
    ['with an unknown critical extension', ({ token }) => token({}, { crit: ['x'], x: 1 })],
    ['that is no JWT', () => 'secret'],
  ];

  test.each(FORGERIES)('%s', async (_, token) => {
    const issuer = await tokenIssuer('RS256');
    const { errors, listen } = guarded(issuer.find);
    expect(challengeOf(await listen(await token(issuer)))).toEqual(
      invalid('The token is not valid'),
    );
    expect(errors).toEqual([]);
  });
});

test.each(['HS256', 'HS512'])('a shared secret is never accepted: %s', async (alg) => {
  const secret = 'x'.repeat(64);
  const { listen } = guarded(() => new TextEncoder().encode(secret));
  expect(challengeOf(await listen(forged(alg, 'first', secret)))).toEqual(
    invalid('The token is not valid'),
  );
});

test('clocks may differ by clockToleranceMs', async () => {
  const issuer = await tokenIssuer();
  const { listen } = guarded(issuer.find, { clockToleranceMs: 30_000 });
  await streamOf(await listen(await issuer.token({ exp: seconds(-10), nbf: seconds(10) })));
  expect(challengeOf(await listen(await issuer.token({ exp: seconds(-31) })))).toEqual(
    invalid('The token has expired'),
  );
});

const NO_RIGHTS: { claim: unknown }[] = [
  ...[
    undefined,
    null,
    true,
    '*',
    ['*'],
    { resourceSubscriptions: '*' },
    { taskIds: [7] },
    { toolsListChanged: 'yes' },
  ],
  ...[{ groups: 'acme' }, { groups: [7] }],
].map((claim) => ({ claim }));

test.each(NO_RIGHTS)('a caller whose claim is %j may not listen', async ({ claim }) => {
  const issuer = await tokenIssuer();
  const { listen, server } = guarded(issuer.find, { scopes: ['mcp:listen'] });
  expect(challengeOf(await listen(await issuer.token({ 'mcp.listen': claim })))).toEqual({
    status: 403,
    challenge:
      'Bearer error="insufficient_scope", ' +
      'error_description="The token does not state what its caller may receive", ' +
      `${METADATA}, scope="mcp:listen"`,
  });
  expect(server.stats()).toMatchObject({ opened: 0, refused: { forbidden: 1 } });
});

test('the claim may have another name, and a claim `denied` has no effect', async () => {
  const issuer = await tokenIssuer();
  const claim = 'https://mcp.example/listen';
  const { listen } = guarded(issuer.find, { claim });
  const stream = await streamOf(
    await listen(await issuer.token({ [claim]: TOOLS, denied: 401, 'mcp.listen': {} })),
  );
  expect(await stream.message()).toBe(acknowledged('1', TOOLS));
});

const URIS = ['a', 'a*', 'a*b', 'ab', 'a/b', 'A', 'ba', 'aXb'].map((path) => `note:${path}`);

test.each([
  ['note:a', ['note:a']],
  ['note:a/*', ['note:a/b']],
  ['note:a*', URIS.filter((uri) => uri.startsWith('note:a'))],
  ['note:a*b', ['note:a*b']],
  ['note:a**', ['note:a*', 'note:a*b']],
  ['*', URIS],
  ['*a', []],
  ['note:.', []],
  ['note:.*', []],
  ['', []],
])('the pattern %j matches %j', async (pattern, expected) => {
  const issuer = await tokenIssuer();
  const { authorize } = jwtAuthorizer({ issuer: ISSUER, audience: AUDIENCE, jwks: issuer.find });
  for (const names of ['resourceSubscriptions', 'taskIds']) {
    const authorization = `Bearer ${await issuer.token({ 'mcp.listen': { [names]: [pattern] } })}`;
    const request = new Request(AUDIENCE, { headers: { authorization } });
    const allowed = await authorize({
      request,
      args: [],
      principal: 'ann',
      requested: { [names]: URIS },
    });
    expect(allowed).toMatchObject({ toolsListChanged: false, [names]: expected });
  }
});

describe('keys', () => {
  test('are fetched once, and again for a token of a new key', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const issuer = await tokenIssuer();
    const { listen } = guarded(issuer.jwks);
    const old = await issuer.token({ exp: seconds(3_600) });
    for (let count = 0; count < 3; count += 1) await streamOf(await listen(old));
    expect(issuer.asked).toBe(1);
    await issuer.rotate('second');
    vi.setSystemTime(Date.now() + 31_000);
    await streamOf(await listen(await issuer.token()));
    expect(issuer.asked).toBe(2);
    expect(challengeOf(await listen(old))).toEqual(invalid('The token is not valid'));
  });

  test('that are withdrawn end the streams of their callers', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const issuer = await tokenIssuer();
    const { listen, server } = guarded(issuer.jwks, { authorizationTtlMs: 1 });
    const stream = await streamOf(await listen(await issuer.token({ exp: seconds(3_600) })));
    await stream.message();
    await issuer.rotate('second');
    vi.setSystemTime(Date.now() + 601_000);
    await server.notify.toolsChanged();
    expect(await stream.message()).toBeUndefined();
    expect(server.stats()).toMatchObject({ notifications: 0, ended: { denied: 1 } });
  });

  test.each([
    [503, 'later'],
    [200, 'no JSON'],
    [200, '{"keys":7}'],
  ])('that get %i and "%s" give 503, not 401', async (status, body) => {
    const issuer = await tokenIssuer();
    issuer.instead = { status, body };
    const { errors, listen, server } = guarded(issuer.jwks);
    expect(challengeOf(await listen(await issuer.token()))).toEqual({
      status: 503,
      challenge: null,
    });
    expect(errors).toMatchObject([{ code: 'authorizer-failed' }]);
    expect(server.stats()).toMatchObject({ refused: { unauthorized: 0, unavailable: 1 } });
  });

  test('that are unreachable give 503', async () => {
    const issuer = await tokenIssuer();
    const { listen } = guarded('http://127.0.0.1:1/jwks.json');
    expect(challengeOf(await listen(await issuer.token()))).toEqual({
      status: 503,
      challenge: null,
    });
  });

  test('may come from a function', async () => {
    const issuer = await tokenIssuer();
    const { listen } = guarded(() => importJWK(issuer.keys[0] ?? {}, 'ES256'));
    await streamOf(await listen(await issuer.token()));
    expect(issuer.asked).toBe(0);
  });
});

test('keys that cannot be fetched again are imported once for all tokens of open streams', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const issuer = await tokenIssuer();
  const { listen, server } = guarded(issuer.jwks, { authorizationTtlMs: 1 });
  const stream = await streamOf(await listen(await issuer.token({ exp: seconds(3_600) })));
  await stream.message();
  issuer.instead = { status: 503, body: 'later' };
  vi.setSystemTime(Date.now() + 601_000);
  const imports = vi.spyOn(crypto.subtle, 'importKey');
  for (let count = 0; count < 3; count += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    await server.notify.toolsChanged();
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
  }
  expect(imports).toHaveBeenCalledTimes(1);
  imports.mockRestore();
});

test('a stream ends when its token expires, without a result', async () => {
  const issuer = await tokenIssuer();
  vi.useFakeTimers({ now: 1_800_000_000_000 });
  const { listen, server } = guarded(issuer.find, { keepAliveMs: 0 });
  const stream = await streamOf(await listen(await issuer.token({ exp: seconds(60) })));
  await stream.message();
  await vi.advanceTimersByTimeAsync(59_999);
  expect(server.stats().open).toBe(1);
  await vi.advanceTimersByTimeAsync(2);
  expect(await stream.message()).toBeUndefined();
  expect(server.stats()).toMatchObject({ open: 0, ended: { expired: 1, closed: 0 } });
});

test.each([
  { issuer: '' },
  { issuer: undefined },
  { audience: '' },
  { audience: undefined, resource: AUDIENCE },
  { audience: 'api://mcp' },
  { resource: 'https://mcp.example/#a' },
  { jwks: 'jwks.json' },
  { jwks: undefined },
  { scopes: ['a b'] },
  { scopes: ['"'] },
  { clockToleranceMs: -1 },
  { clockToleranceMs: Number.NaN },
])('the options %j are refused', (wrong) => {
  const options = {
    issuer: ISSUER,
    audience: AUDIENCE,
    jwks: 'https://login.example/jwks',
    ...wrong,
  };
  expect(() => jwtAuthorizer(options as JwtOptions)).toThrow(
    expect.objectContaining({ code: 'invalid-options' }),
  );
});

/** A public key as text, as many servers hold it. */
async function pem(key: object = {}): Promise<string> {
  return exportSPKI((await importJWK(key, 'RS256')) as CryptoKey);
}
