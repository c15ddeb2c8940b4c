import { InMemoryBus } from 'mcp-listen';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { expect, test } from 'vitest';
import { type Endpoint, endpoint } from '../../host/endpoint.ts';
import { LegacySession } from '../../host/legacy.ts';
import { settle } from '../../host/virtual-clock.ts';
import { HOOK_SECRET } from '../../host/webhook.ts';
import { sessionServer } from '../sessions/serving.ts';

const EXTENSION = 'io.modelcontextprotocol/events';

async function begun(legacy: boolean) {
  const types = { 'order.paid': {} };
  const events = defineEvents(types, { legacy, webhooks: { allowInsecureLocalhost: true } });
  const bus = new InMemoryBus({ events: eventLog({ webhooks: events }) });
  const { send, server } = sessionServer({ bus, events, principal: () => 'ann' });
  const session = await LegacySession.begin(send);
  const ask = (method: string, url: string) => {
    const delivery = { mode: 'webhook', url, secret: HOOK_SECRET };
    return session.ask(`events/${method}`, { name: 'order.paid', delivery });
  };
  return { ask, notify: server.notify, session };
}

test('sessions are offered events and list them if the server serves them so', async () => {
  const { session } = await begun(true);
  const { capabilities } = session.initialized.result ?? {};
  // Changes of the list of event types do not reach sessions.
  expect(capabilities).toMatchObject({ tools: {}, events: {}, extensions: { [EXTENSION]: {} } });
  expect(JSON.stringify((capabilities as { events: object }).events)).toBe('{}');
  const { result } = await session.ask('events/list');
  expect(result?.['events']).toMatchObject([{ name: 'order.paid' }]);
  expect((await session.ask('tools/list')).result?.['tools']).toHaveLength(1);
});

test('sessions subscribe webhooks, which receive events until they are unsubscribed', async () => {
  const { ask, notify } = await begun(true);
  const [hook, other] = [await endpoint(HOOK_SECRET), await endpoint(HOOK_SECRET)];
  for (const { url } of [hook, other])
    expect((await ask('subscribe', url)).result).toMatchObject({
      id: expect.stringMatching(/^sub_[0-9a-f]{32}$/),
      truncated: false,
    });
  await notify.event('order.paid', { number: 1 }, { id: 'one' });
  for (const each of [hook, other]) await expect.poll(() => received(each)).toEqual(['one']);
  expect((await ask('unsubscribe', hook.url)).result).toBeDefined();
  await notify.event('order.paid', { number: 2 }, { id: 'two' });
  await expect.poll(() => received(other)).toEqual(['one', 'two']);
  await settle();
  expect(received(hook)).toEqual(['one']);
});

test('sessions learn why an endpoint is refused', async () => {
  const { ask } = await begun(true);
  const { error } = await ask('subscribe', 'http://127.0.0.1:1/hook');
  expect(error).toMatchObject({ code: -32_015, data: { reason: 'connection_refused' } });
});

test('sessions know nothing of events otherwise', async () => {
  const { session } = await begun(false);
  expect(session.initialized.result?.['capabilities']).not.toHaveProperty('events');
  expect((await session.ask('events/list')).error).toMatchObject({ code: -32_601 });
});

/** The ids of the events that an endpoint has received with a valid signature. */
function received(hook: Endpoint): unknown[] {
  return hook.events
    .filter(({ signers }) => signers.length === 1)
    .map(({ body }) => body['eventId']);
}
