import type { AuthorizeContext, ListenHandlerOptions, PrincipalResult } from 'mcp-listen';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { LegacySession } from '../../host/legacy.ts';
import { listChanged } from '../../host/listen.ts';
import { BUSES } from '../bus/breakable-bus.ts';
import { listenRequest, open, serving, TOOLS, URL } from '../serving.ts';
import { sessionServer } from '../sessions/serving.ts';

const BOTH = { toolsListChanged: true, promptsListChanged: true };
const CUE = listChanged('1', 'tools');
const TTL = 30_000;

// Streams are written to after the turn of the event loop in which an event arrives.
beforeEach(() => void vi.useFakeTimers({ shouldAdvanceTime: true, advanceTimeDelta: 1 }));
afterEach(() => void vi.useRealTimers());

/** A principal whose result a test can change. */
function changeable(first: PrincipalResult) {
  const caller = {
    result: (): PrincipalResult | Promise<PrincipalResult> => first,
    principal: vi.fn((_request: Request) => caller.result()),
  };
  return caller;
}

const FAILURES: [
  why: string,
  result: () => PrincipalResult | Promise<PrincipalResult>,
  code?: string,
][] = [
  ['denies', () => ({ denied: 401 })],
  ['names someone else', () => 'eve'],
  ['names no caller', () => undefined],
  ['returns an expired identity', () => ({ name: 'ann', expiresAt: Date.now() - 1 })],
  ['returns an expiry in seconds', () => ({ name: 'ann', expiresAt: 4e9 }), 'authorizer-failed'],
  ['removes a group', () => ({ name: 'ann', groups: ['bolt'] })],
  ['throws', () => Promise.reject(new Error('secret')), 'authorizer-failed'],
  ['times out', () => new Promise<never>(() => {}), 'authorizer-timeout'],
];

describe.each(BUSES)('with principal alone, on %s,', (_, newBus) => {
  const served = (options: ListenHandlerOptions) =>
    serving({ bus: newBus(), keepAliveMs: 0, ...options });

  test.each(FAILURES)(
    'a stream ends without the cue and a result where principal later %s',
    async (...row) => {
      const [, result, code] = row;
      const onError = vi.fn();
      const caller = changeable({ name: 'ann', groups: ['acme'] });
      const server = served({ principal: caller.principal, onError });
      const stream = await open(server, TOOLS);
      await stream.message();
      await vi.advanceTimersByTimeAsync(TTL);
      caller.result = result;
      await server.notify.toolsChanged({ group: 'acme' });
      const next = stream.message();
      await vi.advanceTimersByTimeAsync(2_000);
      expect(await next).toBeUndefined();
      expect(server.stats()).toMatchObject({ open: 0, notifications: 0, ended: { denied: 1 } });
      expect(onError.mock.calls).toEqual(
        code === undefined ? [] : [[expect.objectContaining({ code })]],
      );
    },
  );

  test('principal is called once per authorizationTtlMs, with the header fields and no body', async () => {
    const caller = changeable('ann');
    const server = served({ principal: caller.principal });
    const response = await server.fetch(
      listenRequest(TOOLS, { headers: { authorization: 'Bearer x' } }),
    );
    const reader = response.body?.getReader();
    await reader?.read();
    for (const age of [TTL - 1, 1, TTL - 1, 1]) {
      await vi.advanceTimersByTimeAsync(age);
      await server.notify.toolsChanged();
      await reader?.read();
    }
    expect(caller.principal).toHaveBeenCalledTimes(3);
    const kept = caller.principal.mock.calls[2]?.[0];
    expect([kept?.headers.get('authorization'), await kept?.text()]).toEqual(['Bearer x', '']);
  });

  test('a stream receives the events of groups that principal adds', async () => {
    const caller = changeable({ name: 'ann', groups: ['acme'] });
    const server = served({ principal: caller.principal });
    const stream = await open(server, BOTH);
    await stream.message();
    await vi.advanceTimersByTimeAsync(TTL);
    caller.result = () => ({ name: 'ann', groups: ['acme', 'bolt'] });
    await server.notify.toolsChanged();
    expect(await stream.message()).toBe(CUE);
    await vi.advanceTimersByTimeAsync(0);
    await server.notify.promptsChanged({ group: 'bolt' });
    expect(await stream.message()).toBe(listChanged('1', 'prompts'));
    await server.notify.toolsChanged({ group: 'acme' });
    expect(await stream.message()).toBe(CUE);
    await server.disconnect('ann');
    expect(await stream.message()).toBeUndefined();
    expect(server.stats()).toMatchObject({ open: 0, away: 0, outages: 0, notifications: 3 });
  });
});

describe.each(BUSES)('while a stream is open on %s,', (_, newBus) => {
  const served = (options: ListenHandlerOptions) =>
    serving({ bus: newBus(), keepAliveMs: 0, ...options });

  test('principal can move the expiry, or remove it', async () => {
    const caller = changeable({ name: 'ann', expiresAt: Date.now() + 60_000 });
    const server = served({ principal: caller.principal });
    const stream = await open(server, TOOLS);
    await stream.message();
    caller.result = () => ({ name: 'ann', expiresAt: Date.now() + 60_000 });
    await vi.advanceTimersByTimeAsync(TTL);
    await server.notify.toolsChanged();
    expect(await stream.message()).toBe(CUE);
    await vi.advanceTimersByTimeAsync(59_000);
    expect(server.stats().open).toBe(1);
    caller.result = () => ({ name: 'ann' });
    await server.notify.toolsChanged();
    expect(await stream.message()).toBe(CUE);
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(server.stats().open).toBe(1);
  });
});

test('principal is called before authorize, which receives its result', async () => {
  const caller = changeable({ name: 'ann', groups: ['acme'], expiresAt: 4e12 });
  const asked: AuthorizeContext[] = [];
  const authorize: ListenHandlerOptions['authorize'] = (context) => {
    asked.push(context);
    return context.requested;
  };
  const server = serving({ principal: caller.principal, authorize, keepAliveMs: 0 });
  const stream = await open(server, TOOLS);
  await stream.message();
  await vi.advanceTimersByTimeAsync(TTL);
  caller.result = () => ({ name: 'ann', groups: ['acme', 'bolt'], expiresAt: 5e12 });
  await server.notify.toolsChanged();
  expect(await stream.message()).toBe(CUE);
  expect(asked[1]).toMatchObject({
    principal: 'ann',
    groups: ['acme', 'bolt'],
    expiresAt: 5e12,
    requested: TOOLS,
  });
  caller.result = () => ({ denied: 403 });
  await vi.advanceTimersByTimeAsync(TTL);
  await server.notify.toolsChanged();
  expect(await stream.message()).toBeUndefined();
  expect(asked).toHaveLength(2);
});

test('the stream of a session ends when its principal changes', async () => {
  const caller = changeable('ann');
  const { send, server } = sessionServer({ principal: caller.principal, keepAliveMs: 0 });
  const session = await LegacySession.begin(send);
  const stream = await session.open();
  await stream.event();
  await vi.advanceTimersByTimeAsync(TTL);
  caller.result = () => 'eve';
  await server.notify.toolsChanged();
  expect(await stream.event()).toBeUndefined();
  expect(server.stats()).toMatchObject({ open: 0, ended: { denied: 1 } });
});

test.each<[ListenHandlerOptions, number]>([
  [{ principal: () => 'ann' }, 431],
  [{ authorize: ({ requested }: AuthorizeContext) => requested }, 431],
  [{ principal: () => 'ann', authorizationTtlMs: 0 }, 200],
  [{}, 200],
])(
  'header fields beyond 16 KiB are refused where the stream keeps them: %o',
  async (options, status) => {
    const server = serving(options);
    const [large, small] = [{ 'x-pad': 'a'.repeat(16_384) }, { 'x-pad': 'a'.repeat(16_000) }];
    const responses = [large, small].map((headers) =>
      server.fetch(listenRequest(TOOLS, { headers })),
    );
    expect((await Promise.all(responses)).map((response) => response.status)).toEqual([
      status,
      200,
    ]);
  },
);

test('a URL beyond 16 KiB is refused where the stream keeps it', async () => {
  const server = serving({ principal: () => 'ann' });
  const { body, headers, method } = listenRequest(TOOLS);
  const init = { body: await new Response(body).text(), headers, method };
  const statuses = [16_384, 10_000].map(async (length) => {
    const { status } = await server.fetch(new Request(`${URL}?${'a'.repeat(length)}`, init));
    return status;
  });
  expect(await Promise.all(statuses)).toEqual([431, 200]);
});
