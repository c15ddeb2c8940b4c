import { expect, test } from 'vitest';
import { useFixture } from '../../../host/fixture/fixture.ts';
import { LegacySession } from '../../../host/legacy.ts';
import { type Caller, testSessionLimits } from '../../../host/sessions/limits.ts';

const fixture = useFixture();

testSessionLimits((limits, caller) => (init) => {
  const headers = { ...(init.headers as object), ...fieldsOf(caller) };
  return fixture().sendWith(0, { limits }, { ...init, headers });
});

test('the usage of a caller is known in every isolate, and survives a reset of the bus object', async () => {
  const limits = { sessionsPerPrincipal: 2, sessionUriBytes: 100 };
  const send = (edge: number) => (init: RequestInit) => {
    const headers = { ...(init.headers as object), 'x-user': 'ann' };
    return fixture().sendWith(edge, { limits }, { ...init, headers });
  };
  const first = await LegacySession.initialize(send(0));
  const second = await LegacySession.initialize(send(1));
  await second.ask('resources/subscribe', { uri: 'note://a' });
  await fixture().post(1, '/bus/reset');
  expect(await second.ask('resources/subscribe', { uri: 'note://b' })).toMatchObject({
    error: { code: -32_602 },
  });
  const third = await LegacySession.initialize(send(0));
  expect((await first.post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status).toBe(404);
  expect(await fixture().bus('stats')).toMatchObject({ sessions: 2 });
  for (const session of [second, third]) await session.end();
});

/** The fixture treats a request with a continent as one from the network of the host. */
function fieldsOf({ address, claimed, user }: Caller): Record<string, string> {
  const connecting = address ?? claimed;
  return {
    ...(user !== undefined && { 'x-user': user }),
    ...(connecting !== undefined && { 'cf-connecting-ip': connecting }),
    ...(address !== undefined && { 'x-continent': 'EU' }),
  };
}
