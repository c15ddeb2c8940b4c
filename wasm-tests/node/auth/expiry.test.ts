import type { Principal } from 'mcp-listen';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { LegacySession } from '../../host/legacy.ts';
import { restOf } from '../../host/listen.ts';
import { BUSES } from '../bus/breakable-bus.ts';
import { listenRequest, open, refusal, serving, TOOLS } from '../serving.ts';
import { sessionServer } from '../sessions/serving.ts';

// Streams are written to after the turn of the event loop in which an event arrives.
beforeEach(() => void vi.useFakeTimers({ shouldAdvanceTime: true, advanceTimeDelta: 1 }));
afterEach(() => void vi.useRealTimers());

/** A caller whose token expires in `ms`. */
function expiring(ms: number): Principal {
  return () => ({ name: 'ann', expiresAt: Date.now() + ms });
}

/** The same, as a `Date`. */
function expiringOn(ms: number): Principal {
  return () => ({ name: 'ann', expiresAt: new Date(Date.now() + ms) });
}

describe.each(BUSES)('on %s', (_, newBus) => {
  test('a stream ends without a result when its token expires', async () => {
    const server = serving({ bus: newBus(), principal: expiring(1_000) });
    const stream = await open(server, TOOLS);
    await stream.message();
    await vi.advanceTimersByTimeAsync(999);
    expect(server.stats()).toMatchObject({ open: 1, ended: { expired: 0 } });
    await vi.advanceTimersByTimeAsync(2);
    expect(server.stats()).toMatchObject({ open: 0, ended: { expired: 1, closed: 0 } });
    expect(await stream.message()).toBeUndefined();
  });

  test('a stream that is not read ends as well, without its pending cues', async () => {
    const server = serving({ bus: newBus(), principal: expiring(1_000), keepAliveMs: 0 });
    const stream = await open(server, TOOLS);
    for (let count = 0; count < 5; count += 1) await server.notify.toolsChanged();
    await vi.advanceTimersByTimeAsync(1_001);
    expect(server.stats()).toMatchObject({ open: 0, ended: { expired: 1 } });
    const messages = await restOf(stream);
    expect(messages.filter((text) => text.includes('list_changed')).length).toBeLessThanOrEqual(1);
    expect(messages.join()).not.toContain('result');
  });

  test.each([1e15, Number.POSITIVE_INFINITY])(
    'a token that expires in %s ms ends no stream',
    async (ms) => {
      const server = serving({ bus: newBus(), principal: expiring(ms), keepAliveMs: 0 });
      await open(server, TOOLS);
      await vi.advanceTimersByTimeAsync(60_000);
      expect(server.stats().open).toBe(1);
    },
  );
});

test('a stream ends at an expiry that is a Date', async () => {
  const server = serving({ principal: expiringOn(1_000) });
  const stream = await open(server, TOOLS);
  await stream.message();
  await vi.advanceTimersByTimeAsync(999);
  expect(server.stats().open).toBe(1);
  await vi.advanceTimersByTimeAsync(2);
  expect(server.stats()).toMatchObject({ open: 0, ended: { expired: 1 } });
});

test('the stream of a session ends when the token of its request expires', async () => {
  const { send, server } = sessionServer({ principal: expiring(1_000) });
  const session = await LegacySession.begin(send);
  await session.open();
  await vi.advanceTimersByTimeAsync(999);
  expect(server.stats().open).toBe(1);
  await vi.advanceTimersByTimeAsync(2);
  expect(server.stats()).toMatchObject({ open: 0, ended: { expired: 1 } });
});

test.each([
  ['a number', 0],
  ['a number', -1],
  ['a number', -7e11],
  ['a Date', 0],
  ['a Date', -1],
  ['a Date', -7e11],
])('a caller whose expiry is %s of %s ms from now is denied', async (form, ms) => {
  const expiresAt = () => (form === 'a Date' ? new Date(Date.now() + ms) : Date.now() + ms);
  const server = serving({ principal: () => ({ name: 'ann', expiresAt: expiresAt() }) });
  expect(await refusal(await server.fetch(listenRequest(TOOLS)))).toMatchObject({ status: 401 });
  expect(server.stats()).toMatchObject({ opened: 0, refused: { unauthorized: 1 } });
});

test.each([
  { expiresAt: 'soon' },
  { expiresAt: Number.NaN },
  { expiresAt: new Date('soon') },
  { expiresAt: null },
  { name: 7 },
  {},
  [],
])('%j is no valid identity', async (returned) => {
  expect(await errorsOf(returned)).toMatchObject([{ code: 'authorizer-failed' }]);
});

test.each([
  ['seconds as a number', 1_795_330_800],
  ['seconds in a Date', new Date(1_795_330_800)],
  ['the last millisecond of 2000', Date.UTC(2001) - 1],
  ['zero', 0],
  ['minus infinity', Number.NEGATIVE_INFINITY],
])('an expiry before 2001 is refused, and the error names the unit: %s', async (_, expiresAt) => {
  expect(await errorsOf({ name: 'ann', expiresAt })).toMatchObject([
    {
      code: 'authorizer-failed',
      message: expect.stringContaining('milliseconds since 1970, not seconds'),
    },
  ]);
});

/** The errors that are reported for a response that is refused with 503. */
async function errorsOf(returned: unknown): Promise<Error[]> {
  const errors: Error[] = [];
  const server = serving({
    principal: () => returned as never,
    onError: (error) => errors.push(error),
  });
  expect(await refusal(await server.fetch(listenRequest(TOOLS)))).toMatchObject({ status: 503 });
  return errors;
}
