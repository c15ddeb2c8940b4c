import { createHash } from 'node:crypto';
import { OAuthError, OAuthErrorCode, requireBearerAuth } from '@modelcontextprotocol/server';
import type { AuthInfo, AuthorizeContext, ListenHandlerOptions } from 'mcp-listen';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { listenRequest, open, refusal, serving, TOOLS } from '../serving.ts';

beforeEach(() => void vi.useFakeTimers({ shouldAdvanceTime: true, advanceTimeDelta: 1 }));
afterEach(() => void vi.useRealTimers());

function info(more: Partial<AuthInfo> = {}): AuthInfo {
  return { token: 'secret', clientId: 'app', scopes: ['mcp'], ...more };
}

/** The context that `authorize` receives when `principal` returns this. */
async function contextFor(returned: AuthInfo): Promise<AuthorizeContext> {
  const authorize = vi.fn(({ requested }: AuthorizeContext) => requested);
  const response = await serving({ principal: () => returned, authorize }).fetch(
    listenRequest(TOOLS),
  );
  expect(response.status).toBe(200);
  return authorize.mock.calls[0]?.[0] as AuthorizeContext;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

test.each([
  ['its sub', { sub: 'ann', userId: 'bob' }, 'ann'],
  ['its userId', { userId: 'bob' }, 'bob'],
  ['its userId where sub is empty', { sub: '', userId: 'bob' }, 'bob'],
  ['its userId where sub is a number', { sub: 7, userId: 'bob' }, 'bob'],
  [
    'the digest of its token where both have other types',
    { sub: null, userId: ['bob'] },
    sha256('secret'),
  ],
  ['the digest of its token where it has neither', {}, sha256('secret')],
])('a token names its caller by %s', async (_, extra, name) => {
  expect((await contextFor(info({ extra }))).principal).toBe(name);
});

test('without extra, each token of a client names one caller', async () => {
  const names = [];
  for (const token of ['one', 'two', 'one'])
    names.push((await contextFor(info({ token }))).principal);
  expect(names).toEqual([sha256('one'), sha256('two'), sha256('one')]);
});

test('authorize receives the token as claims, and its expiry in milliseconds', async () => {
  const returned = info({ expiresAt: 4e9, resource: new URL('https://mcp.example/mcp') });
  const { claims, expiresAt } = await contextFor(returned);
  expect(claims).toBe(returned);
  expect(expiresAt).toBe(4e12);
});

test('a stream ends in the second in which its token expires', async () => {
  const now = Math.ceil(Date.now() / 1_000) * 1_000;
  vi.setSystemTime(now);
  const server = serving({ principal: () => info({ expiresAt: now / 1_000 + 2 }) });
  const stream = await open(server, TOOLS);
  await stream.message();
  await vi.advanceTimersByTimeAsync(1_900);
  expect(server.stats().open).toBe(1);
  await vi.advanceTimersByTimeAsync(101);
  expect(server.stats()).toMatchObject({ open: 0, ended: { expired: 1 } });
});

test('a token without expiresAt never expires, and an expired token is denied', async () => {
  const server = serving({ principal: () => info(), keepAliveMs: 0 });
  await open(server, TOOLS);
  await vi.advanceTimersByTimeAsync(86_400_000);
  expect(server.stats().open).toBe(1);
  const expired = serving({ principal: () => info({ expiresAt: Date.now() / 1_000 - 1 }) });
  expect(await refusal(await expired.fetch(listenRequest(TOOLS)))).toMatchObject({ status: 401 });
});

test.each([
  { ...info(), expiresAt: Number.NaN },
  { ...info(), expiresAt: 'soon' },
  { ...info(), expiresAt: null },
  { ...info(), token: '' },
  { ...info(), token: 7 },
  { ...info(), name: 'ann' },
  { ...info(), groups: ['acme'] },
  { ...info(), claims: {} },
])('%j is no valid AuthInfo', async (returned) => {
  const onError = vi.fn();
  const server = serving({ principal: () => returned as AuthInfo, onError });
  expect(await refusal(await server.fetch(listenRequest(TOOLS)))).toMatchObject({ status: 503 });
  expect(onError).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ code: 'authorizer-failed' }),
  );
});

test("the SDK's requireBearerAuth works as principal", async () => {
  const verifyAccessToken = async (token: string): Promise<AuthInfo> => {
    if (token === 'good')
      return info({ token, expiresAt: Date.now() / 1_000 + 60, extra: { sub: 'ann' } });
    throw new OAuthError(OAuthErrorCode.InvalidToken, 'not this one');
  };
  const authorize = vi.fn(({ requested }: AuthorizeContext) => requested);
  const server = serving({
    principal: requireBearerAuth({ verifier: { verifyAccessToken } }),
    authorize,
  });
  const listen = (token: string) =>
    server.fetch(listenRequest(TOOLS, { headers: { authorization: `Bearer ${token}` } }));
  expect((await listen('good')).status).toBe(200);
  expect(authorize).toHaveBeenCalledWith(expect.objectContaining({ principal: 'ann' }));
  const denied = await listen('bad');
  expect(denied.headers.get('www-authenticate')).toContain('error="invalid_token"');
  expect(await denied.clone().text()).not.toContain('not this one');
  expect(await refusal(denied)).toMatchObject({ status: 401, code: -32_600 });
});

const DENIERS: [name: string, denying: (deny: () => Response) => ListenHandlerOptions][] = [
  ['principal', (deny) => ({ principal: deny })],
  ['authorize', (deny) => ({ authorize: deny })],
];

test.each(DENIERS)(
  'a Response returned by %s denies with its status and two of its header fields',
  async (_, denying) => {
    for (const [status, field] of [
      [401, 'www-authenticate'],
      [403, 'www-authenticate'],
      [503, 'retry-after'],
    ] as const) {
      const headers = { [field]: '7', 'x-secret': 'yes', 'set-cookie': 'a=b' };
      const returned = new Response('a secret', { status, headers });
      const response = await serving(denying(() => returned)).fetch(listenRequest(TOOLS));
      expect(response.status).toBe(status);
      expect(response.headers.get(field)).toBe('7');
      expect([response.headers.get('x-secret'), response.headers.get('set-cookie')]).toEqual([
        null,
        null,
      ]);
      expect(await response.text()).not.toContain('secret');
      expect(returned.bodyUsed).toBe(true);
    }
  },
);

test.each(DENIERS)(
  'any other Response returned by %s gives 503, and is reported',
  async (_, denying) => {
    for (const returned of [
      new Response(),
      Response.json({}, { status: 500 }),
      Response.redirect('https://a.example/'),
    ]) {
      const onError = vi.fn();
      const server = serving({ ...denying(() => returned), onError });
      expect(await refusal(await server.fetch(listenRequest(TOOLS)))).toMatchObject({
        status: 503,
      });
      expect(onError).toHaveBeenCalledExactlyOnceWith(
        expect.objectContaining({ code: 'authorizer-failed' }),
      );
    }
  },
);
