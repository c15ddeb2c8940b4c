import { createWebhookReceiver, type WebhookEvent } from 'mcp-listen/webhook';
import { expect, expectTypeOf, test, vi } from 'vitest';
import { z } from 'zod';
import { delivery, eventOf, HOOK_SECRET } from '../../host/webhook.ts';

const schemas = {
  'order.paid': z.object({ order: z.number().transform((order) => `order ${order}`) }),
  'order.sent': z.object({ place: z.string() }),
};

function receiving() {
  const onEvent = vi.fn<(event: WebhookEvent<typeof schemas>) => void>();
  const onError = vi.fn();
  const others = { onGap: () => {}, onTerminated: () => {} };
  const receiver = createWebhookReceiver({
    ...{ secrets: HOOK_SECRET, schemas, onError, ...others },
    onEvent,
  });
  const post = async (body: unknown) => (await receiver.fetch(delivery(body))).status;
  return { onError, onEvent, post };
}

test('a schema validates data, and its output is passed on', async () => {
  const { onEvent, post } = receiving();
  expect(await post(eventOf('evt_1'))).toBe(204);
  const event = { ...eventOf('evt_1'), data: { order: 'order 7' } };
  expect(onEvent).toHaveBeenCalledWith(event, expect.anything());
});

test('data that is not valid, and a name without a schema, get 400 and are reported', async () => {
  const { onError, onEvent, post } = receiving();
  expect(await post(eventOf('evt_1', { data: { order: 'seven' } }))).toBe(400);
  expect(await post(eventOf('evt_2', { name: 'toString' }))).toBe(400);
  expect(onError.mock.calls.flat()).toMatchObject([
    { code: 'malformed-event' },
    { code: 'malformed-event', message: expect.stringContaining('no schema') },
  ]);
  expect(onEvent).not.toHaveBeenCalled();
});

test('an event that was not valid is handled once its schema allows it', async () => {
  const { onEvent, post } = receiving();
  expect(await post(eventOf('evt_1', { data: {} }))).toBe(400);
  expect(await post(eventOf('evt_1'))).toBe(204);
  expect(onEvent).toHaveBeenCalledTimes(1);
});

test('what the host passes is inferred beside the schemas', () => {
  createWebhookReceiver({
    secrets: (_subscription, _request, env: { secret: string }) => env.secret,
    schemas,
    onEvent(event, { args }) {
      expectTypeOf(event).toEqualTypeOf<WebhookEvent<typeof schemas>>();
      expectTypeOf(args).toEqualTypeOf<[env: { secret: string }]>();
    },
    ...{ onGap: () => {}, onTerminated: () => {} },
  });
});

test('the name of an event decides the type of its data', () => {
  const read = (event: WebhookEvent<typeof schemas>) => {
    if (event.name === 'order.paid') expectTypeOf(event.data).toEqualTypeOf<{ order: string }>();
    else expectTypeOf(event.data).toEqualTypeOf<{ place: string }>();
  };
  expect(read).toBeTypeOf('function');
  expectTypeOf<WebhookEvent['data']>().toEqualTypeOf<unknown>();
});
