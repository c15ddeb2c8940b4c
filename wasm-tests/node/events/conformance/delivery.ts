import { createHmac } from 'node:crypto';
import { expect } from 'vitest';
import { endpoint, type Received } from '../../../host/endpoint.ts';
import { elapsed, pass, settle, until } from '../../../host/virtual-clock.ts';
import { HOOK_SECRET, NEXT_SECRET } from '../../../host/webhook.ts';
import type { Checks } from './check.ts';
import { idsOf, type ServingOptions, serving } from './serving.ts';

/** What endpoints receive: occurrences, control messages, and both again. */
export const DELIVERY: Checks = {
  'sep-9999-delivery-status-last-error-category': async () => {
    const { hook, publish, subscribe } = await subscribed();
    hook.reply = () => ({ status: 503, body: 'secret of the endpoint' });
    await publish('one');
    await until(() => hook.events.length === 1);
    await settle();
    hook.reply = () => undefined;
    const { result } = await subscribe(hook.url);
    expect(result).toMatchObject({ deliveryStatus: { lastError: 'http_5xx' } });
    expect(JSON.stringify(result)).not.toContain('secret');
  },

  'sep-9999-delivery-post-json': async () => {
    const { headers } = await delivered();
    // The endpoint of these tests reads the body as JSON.
    expect(headers['content-type']).toBe('application/json');
  },

  'sep-9999-delivery-standard-webhooks-headers': async () => {
    const { headers } = await delivered();
    expect(headers).toMatchObject({
      'webhook-id': 'one',
      'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
      'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
    });
  },

  'sep-9999-delivery-subscription-id-header': async () => {
    const { id, hook, publish } = await subscribed();
    await publish('one');
    await until(() => hook.events.length === 1);
    for (const { headers } of hook.received) {
      expect(headers['x-mcp-subscription-id']).toBe(id);
      const own = Object.keys(headers).filter((name) => /mcp/.test(name));
      expect(own).toEqual(['x-mcp-subscription-id']);
    }
  },

  'sep-9999-delivery-signature-formula': async () => {
    const { body, headers, signers } = await delivered();
    const key = Buffer.from(HOOK_SECRET.slice('whsec_'.length), 'base64');
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = headers;
    const hmac = createHmac('sha256', key).update(`${id}.${at}.${JSON.stringify(body)}`);
    expect(signature).toBe(`v1,${hmac.digest('base64')}`);
    expect(signers).toEqual([HOOK_SECRET]);
  },

  'sep-9999-delivery-retry-regenerates-signature': async () => {
    const { hook, publish } = await subscribed();
    hook.reply = () => (hook.events.length < 2 ? 500 : undefined);
    await publish('one');
    await elapsed(() => hook.events.length === 2);
    const [first, second] = hook.events;
    for (const name of ['webhook-timestamp', 'webhook-signature'])
      expect(second?.headers[name]).not.toBe(first?.headers[name]);
    expect(second?.signers).toEqual([HOOK_SECRET]);
    expect(second?.headers['webhook-id']).toBe('one');
  },

  'sep-9999-delivery-dual-sign-on-rotation': async () => {
    const { hook, publish, subscribe } = await subscribed();
    await subscribe('', { delivery: { url: hook.url, secret: NEXT_SECRET } });
    await publish('one');
    await elapsed(() => hook.events.length === 1);
    expect(hook.events[0]?.signers).toEqual([HOOK_SECRET, NEXT_SECRET]);
  },

  'sep-9999-delivery-body-size': async () => {
    const { handler, hook } = await subscribed();
    const most = { topic: 'x'.repeat(196_608 - '{"topic":""}'.length) };
    await handler.notify.event('noted', most, { id: '"'.repeat(256) });
    await until(() => hook.events.length === 1);
    const bytes = Number(hook.events[0]?.headers['content-length']);
    expect(bytes).toBeGreaterThan(196_608);
    expect(bytes).toBeLessThanOrEqual(262_144);
    const more = { topic: `${most.topic}x` };
    await expect(handler.notify.event('noted', more)).rejects.toMatchObject({
      code: 'event-too-large',
    });
  },

  'sep-9999-delivery-413-non-retryable': () => expectFinal(413),
  'sep-9999-delivery-410-non-retryable': () => expectFinal(410),

  'sep-9999-delivery-retries-bounded': async () => {
    const { hook, publish } = await subscribed();
    const cursed = () => hook.events.filter(isCursed).length;
    hook.reply = (message) => (isCursed(message) ? 500 : undefined);
    const began = Date.now();
    await publish('cursed');
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      await elapsed(() => cursed() >= attempt, 4_000);
      // The endpoint is not down: it accepts other events.
      await publish(`blessed-${attempt}`);
      await until(() => hook.events.some(({ body }) => body['eventId'] === `blessed-${attempt}`));
      await settle();
    }
    expect(Date.now() - began).toBeLessThanOrEqual(900_000);
    await pass(900_000);
    await settle();
    expect(cursed()).toBe(5);
  },

  'sep-9999-envelope-type-discriminator': async () => {
    const { hook, publish } = await subscribed();
    await publish('one');
    await until(() => hook.events.length === 1);
    const [control, event] = hook.received.map(({ body }) => body);
    expect(control).toEqual({ type: 'verification', challenge: expect.any(String) });
    expect(event).toEqual({
      ...{ eventId: 'one', name: 'noted', data: { topic: 'one' } },
      timestamp: expect.any(String),
      cursor: expect.any(String),
    });
  },

  'sep-9999-envelope-signed-like-deliveries': async () => {
    for (const { headers, signers } of await controls()) {
      expect(signers).toEqual([HOOK_SECRET]);
      expect(headers).toMatchObject({
        'content-type': 'application/json',
        'webhook-timestamp': expect.stringMatching(/^\d+$/),
        'x-mcp-subscription-id': expect.stringMatching(/^sub_/),
      });
    }
  },

  'sep-9999-envelope-webhook-id-format': async () => {
    const messages = await controls();
    for (const { body, headers } of messages)
      expect(headers['webhook-id']).toMatch(new RegExp(`^msg_${body['type']}_\\w+$`));
    const ids = messages.map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(ids.length);
  },

  'sep-9999-envelope-gap': async () => {
    const { hook, poll, publish } = await subscribed({ log: { logEvents: 10 } });
    hook.reply = () => 500;
    await publish('lost');
    await until(() => hook.events.length === 1);
    await settle();
    // Meanwhile the log has lost what waits.
    await publish(...Array.from({ length: 40 }, (_, index) => `n${index}`));
    hook.reply = () => undefined;
    await elapsed(() => hook.received.some(({ body }) => body['type'] === 'gap'));
    const { body } = hook.received.find((message) => message.body['type'] === 'gap') as Received;
    expect(body).toEqual({ type: 'gap', cursor: expect.any(String) });
    expect((await poll({ cursor: body['cursor'] })).cursor).toBeTypeOf('string');
  },

  'sep-9999-envelope-terminated': async () => {
    const { handler, hook, publish, subscribe } = await subscribed();
    await handler.disconnect('ada');
    await until(() => hook.received.length === 2);
    expect(hook.received[1]?.body).toEqual({
      type: 'terminated',
      error: { code: -32_012, message: expect.any(String) },
    });
    await settle();
    await publish('one');
    await settle();
    expect(hook.events).toEqual([]);
    // A request of the same millisecond counts as one from before the disconnect.
    await pass(1);
    expect((await subscribe(hook.url)).result).not.toHaveProperty('deliveryStatus');
  },
};

/** A server with a subscription whose first second is over, and its endpoint. */
export async function subscribed(options: ServingOptions = {}) {
  const hook = await endpoint(HOOK_SECRET, NEXT_SECRET);
  const server = serving(options);
  const { result } = await server.subscribe(hook.url);
  await pass(1_100);
  return { ...server, hook, id: result?.['id'] as string };
}

async function delivered(): Promise<Received> {
  const { hook, publish } = await subscribed();
  await publish('one');
  await until(() => hook.events.length === 1);
  return hook.events[0] as Received;
}

/** Returns the messages with which an endpoint consents to a subscription and learns its end. */
async function controls(): Promise<Received[]> {
  const { handler, hook } = await subscribed();
  await handler.disconnect('ada');
  await until(() => hook.received.length === 2);
  return hook.received;
}

/** Checks that a message that got a status is not sent again, but others are sent. */
async function expectFinal(status: number): Promise<void> {
  const { hook, publish } = await subscribed();
  hook.reply = () => status;
  await publish('one');
  await until(() => hook.events.length === 1);
  await settle();
  hook.reply = () => undefined;
  for (let minute = 0; minute < 20; minute += 1) {
    await pass(60_000);
    await settle();
  }
  await publish('two');
  await until(() => hook.events.length === 2);
  expect(idsOf(hook.events.map(({ body }) => body))).toEqual(['one', 'two']);
}

function isCursed({ body }: Received): boolean {
  return body['eventId'] === 'cursed';
}
