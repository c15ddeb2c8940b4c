import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import { createListenHandler, InMemoryBus } from 'mcp-listen';
import { type DefinedEvents, defineEvents, eventLog } from 'mcp-listen/events';
import { createWebhookReceiver } from 'mcp-listen/webhook';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { delivery, eventOf, HOOK_SECRET } from '../../host/webhook.ts';
import { discovering, requestOf } from './requests.ts';

/** The same schemas in each library. */
const LIBRARIES = {
  zod: {
    input: z.object({ customer: z.string() }),
    payload: z.object({ customer: z.string(), amount: z.number() }),
  },
  valibot: {
    input: toStandardJsonSchema(v.object({ customer: v.string() })),
    payload: toStandardJsonSchema(v.object({ customer: v.string(), amount: v.number() })),
  },
  arktype: {
    input: type({ customer: 'string' }),
    payload: type({ customer: 'string', amount: 'number' }),
  },
};

function servingWith(events: DefinedEvents) {
  const bus = new InMemoryBus({ events: eventLog() });
  const server = createListenHandler(discovering, { bus, events });
  const ask = async (method: string, params: object = {}) =>
    (await server.fetch(requestOf(method, params, 1))).json() as Promise<{
      result?: { cursor?: string };
    }>;
  return { ask, notify: server.notify };
}

describe.each(Object.entries(LIBRARIES))('a schema of %s', (_, { input, payload }) => {
  function serving() {
    const match = { customer: '/customer' };
    const paid = { inputSchema: input, payloadSchema: payload, match };
    return servingWith(defineEvents({ paid }));
  }

  test('is listed as JSON Schema', async () => {
    const properties = { customer: { type: 'string' } };
    expect(await serving().ask('events/list')).toMatchObject({
      result: {
        events: [
          {
            inputSchema: { type: 'object', properties, required: ['customer'] },
            payloadSchema: {
              type: 'object',
              properties: { ...properties, amount: { type: 'number' } },
            },
          },
        ],
      },
    });
  });

  test('validates arguments and payloads', async () => {
    const { ask, notify } = serving();
    const poll = (args: object) => ask('events/poll', { name: 'paid', arguments: args });
    expect(await poll({ customer: 7 })).toMatchObject({ error: { code: -32_602 } });
    expect(await poll({ customer: 'acme' })).toMatchObject({ result: { events: [] } });
    const wrong = notify.event('paid', { customer: 'acme', amount: 'much' });
    await expect(wrong).rejects.toMatchObject({ code: 'invalid-event-data' });
    expect(await notify.event('paid', { customer: 'acme', amount: 7 })).toHaveProperty('position');
  });

  test('validates what a webhook receives', async () => {
    const received: unknown[] = [];
    const receiver = createWebhookReceiver({
      ...{ secrets: HOOK_SECRET, schemas: { paid: payload } },
      onEvent: ({ data }) => void received.push(data),
      ...{ onGap: () => {}, onTerminated: () => {}, onError: () => {} },
    });
    const post = async (id: string, data: object) =>
      (await receiver.fetch(delivery(eventOf(id, { name: 'paid', data }), { id }))).status;
    expect(await post('evt_1', { customer: 'acme', amount: 'much' })).toBe(400);
    expect(await post('evt_2', { customer: 'acme', amount: 7 })).toBe(204);
    expect(received).toEqual([{ customer: 'acme', amount: 7 }]);
  });
});

test('a schema without JSON Schema, such as one of valibot alone, is listed as any object', async () => {
  const inputSchema = v.object({ customer: v.string() });
  const payloadSchema = v.object({ amount: v.number() });
  const { ask, notify } = servingWith(defineEvents({ paid: { inputSchema, payloadSchema } }));
  expect(await ask('events/list')).toMatchObject({
    result: { events: [{ inputSchema: { type: 'object' }, payloadSchema: { type: 'object' } }] },
  });
  const poll = (args: object) => ask('events/poll', { name: 'paid', arguments: args });
  expect(await poll({ customer: 7 })).toMatchObject({ error: { code: -32_602 } });
  expect(await poll({ customer: 'acme' })).toMatchObject({ result: { events: [] } });
  const wrong = notify.event('paid', { amount: 'much' });
  await expect(wrong).rejects.toMatchObject({ code: 'invalid-event-data' });
});

test('events.emit publishes at a bus what the schemas allow', async () => {
  const events = defineEvents({ paid: { payloadSchema: z.object({ amount: z.number() }) } });
  const bus = new InMemoryBus({ events: eventLog() });
  const wrong = events.emit(bus, 'paid', { amount: 'much' });
  await expect(wrong).rejects.toMatchObject({ code: 'invalid-event-data' });
  const unknown = events.emit(bus, 'payed', { amount: 7 });
  await expect(unknown).rejects.toMatchObject({ code: 'invalid-event-name' });
  expect(await events.emit(bus, 'paid', { amount: 7 }, { id: 'order-7' })).toMatchObject({
    ...{ eventId: 'order-7', position: 1 },
  });
});

test('match receives values as they were sent, before a schema has changed them', async () => {
  const received: unknown[] = [];
  const inputSchema = z.object({ limit: z.number().default(7) });
  const payloadSchema = z.object({ amount: z.coerce.number<string>() });
  const events = defineEvents({
    paid: {
      inputSchema,
      payloadSchema,
      match(args, data) {
        expectTypeOf(args).toEqualTypeOf<z.input<typeof inputSchema>>();
        expectTypeOf(data).toEqualTypeOf<z.input<typeof payloadSchema>>();
        received.push(args, data);
        return true;
      },
    },
  });
  const { ask, notify } = servingWith(events);
  const { result } = await ask('events/poll', { name: 'paid', arguments: {} });
  await notify.event('paid', { amount: '9' });
  await ask('events/poll', { name: 'paid', arguments: {}, cursor: result?.cursor });
  expect(received).toEqual([{}, { amount: '9' }]);
});

test('the schemas of each library decide the types that match receives', () => {
  const { arktype, valibot, zod } = LIBRARIES;
  const paid = defineEvents({
    zod: {
      inputSchema: zod.input,
      payloadSchema: zod.payload,
      match(args, data) {
        expectTypeOf(args).toEqualTypeOf<{ customer: string }>();
        expectTypeOf(data).toEqualTypeOf<{ customer: string; amount: number }>();
        return true;
      },
    },
    valibot: {
      inputSchema: valibot.input,
      payloadSchema: valibot.payload,
      match(args, data) {
        expectTypeOf(args).toEqualTypeOf<{ customer: string }>();
        expectTypeOf(data).toEqualTypeOf<{ customer: string; amount: number }>();
        return true;
      },
    },
    arktype: {
      inputSchema: arktype.input,
      payloadSchema: arktype.payload,
      match(args, data) {
        expectTypeOf(args).toEqualTypeOf<{ customer: string }>();
        expectTypeOf(data).toEqualTypeOf<{ customer: string; amount: number }>();
        return true;
      },
    },
  });
  expect(paid).toBeDefined();
});
