import { InMemoryBus } from 'mcp-listen';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { expect, test } from 'vitest';
import { LegacySession } from '../../host/legacy.ts';
import { HOOK_SECRET } from '../../host/webhook.ts';
import { sessionServer } from '../sessions/serving.ts';

const EXTENSION = 'io.modelcontextprotocol/events';

async function begun(legacy: boolean) {
  const types = { 'order.paid': {} };
  const events = defineEvents(types, { legacy, webhooks: { allowInsecureLocalhost: true } });
  const bus = new InMemoryBus({ events: eventLog({ webhooks: events }) });
  const { send } = sessionServer({ bus, events, principal: () => 'ann' });
  return LegacySession.begin(send);
}

test('sessions are offered events, list them and subscribe if the server serves them so', async () => {
  const session = await begun(true);
  const { capabilities } = session.initialized.result ?? {};
  // Changes of the list of event types do not reach sessions.
  expect(capabilities).toMatchObject({ tools: {}, events: {}, extensions: { [EXTENSION]: {} } });
  expect(JSON.stringify((capabilities as { events: object }).events)).toBe('{}');
  const { result } = await session.ask('events/list');
  expect(result?.['events']).toMatchObject([{ name: 'order.paid' }]);
  const delivery = { mode: 'webhook', url: 'http://127.0.0.1:1/hook', secret: HOOK_SECRET };
  const { error } = await session.ask('events/subscribe', { name: 'order.paid', delivery });
  expect(error).toMatchObject({ code: -32_015, data: { reason: 'connection_refused' } });
  expect((await session.ask('tools/list')).result?.['tools']).toHaveLength(1);
});

test('sessions know nothing of events otherwise', async () => {
  const session = await begun(false);
  expect(session.initialized.result?.['capabilities']).not.toHaveProperty('events');
  expect((await session.ask('events/list')).error).toMatchObject({ code: -32_601 });
});
