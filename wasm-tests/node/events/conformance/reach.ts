import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect } from 'vitest';
import { type Reply as EndpointReply, endpoint } from '../../../host/endpoint.ts';
import { portOf } from '../../../host/port.ts';
import { elapsed, pass, settle, until } from '../../../host/virtual-clock.ts';
import { HOOK_SECRET } from '../../../host/webhook.ts';
import type { Checks } from './check.ts';
import { subscribed } from './delivery.ts';
import { serving } from './serving.ts';

/** The addresses of host names, in place of those of the resolver. */
export const ADDRESSES = new Map<string, string>();

/** Where messages may go, and the consent of endpoints. */
export const REACH: Checks = {
  'sep-9999-ssrf-validate-callback-url': async () => {
    const { subscribe } = serving();
    for (const url of ['hook', 'https://', 'https://me:pw@hooks.example.com/', 'file:///hook'])
      expect((await subscribe(url)).error?.code).toBe(-32_602);
  },

  'sep-9999-ssrf-reject-non-routable': async () => {
    const { subscribe } = serving({ webhooks: { allowInsecureLocalhost: false } });
    for (const host of PRIVATE)
      expect((await subscribe(`https://${host}/hook`)).error?.code).toBe(-32_602);
  },

  'sep-9999-ssrf-validate-at-delivery-time': async () => {
    const local = await listening('rebound.example.com');
    const { origin } = new URL(local.url);
    const { publish, subscribe } = serving({ webhooks: { allowedOrigins: [origin] } });
    const { result } = await subscribe(local.url);
    expect(result).toHaveProperty('id');
    await publish('one');
    await pass(1_100);
    await settle();
    const renewed = await subscribe(local.url);
    expect(renewed.result).toMatchObject({ deliveryStatus: { lastError: 'connection_refused' } });
    expect(local.connections).toBe(0);
    await local.stop();
  },

  'sep-9999-ssrf-no-redirects': async () => {
    const { hook, publish } = await subscribed();
    const other = await endpoint(HOOK_SECRET);
    hook.reply = () => ({ status: 307, headers: { location: other.url } });
    await publish('one');
    // A redirect is a failure: the message is sent again, to the same place.
    await elapsed(() => hook.events.length === 2);
    expect(other.received).toEqual([]);
  },

  'sep-9999-verification-required-before-delivery': async () => {
    const { publish, subscribe } = serving();
    const hook = await endpoint(HOOK_SECRET);
    hook.reply = () => 204;
    await subscribe(hook.url);
    await publish('one');
    await pass(60_000);
    await settle();
    expect(hook.received.map(({ body }) => body['type'])).toEqual(['verification']);
  },

  'sep-9999-verification-challenge-echo': async () => {
    const { subscribe } = serving();
    const hook = await endpoint(HOOK_SECRET);
    for (const place of [1, 2]) await subscribe(`${hook.url}?${place}`);
    const challenges = hook.received.map(({ body }) => body['challenge'] as string);
    expect(new Set(challenges).size).toBe(2);
    for (const { body, headers, signers } of hook.received) {
      expect(body['challenge']).toMatch(/^[0-9a-f]{64}$/);
      expect([headers['x-mcp-subscription-id'], signers]).toEqual([
        expect.stringMatching(/^sub_/),
        [HOOK_SECRET],
      ]);
    }
    for (const body of ['{"challenge":"other"}', '{}', '', challenges[0] ?? '']) {
      hook.reply = () => ({ status: 200, body });
      expect((await subscribe(`${hook.url}?wrong-${body.length}`)).error?.code).toBe(-32_015);
    }
  },

  'sep-9999-verification-failure-error': async () => {
    const { subscribe } = serving();
    expect(await refusal({ status: 200, body: '{}' })).toBe('challenge_failed');
    expect(await refusal(500)).toBe('challenge_failed');
    const { error } = await subscribe('http://127.0.0.1:1/hook');
    expect(error).toMatchObject({ code: -32_015, data: { reason: 'connection_refused' } });
  },

  'sep-9999-verification-cached-per-principal-url': async () => {
    const { subscribe } = serving();
    const hook = await endpoint(HOOK_SECRET);
    const asked = async (...[params, caller]: [object?, string?]): Promise<number> => {
      expect((await subscribe(hook.url, params, caller)).result).toHaveProperty('id');
      return hook.received.length;
    };
    expect(await asked()).toBe(1);
    expect(await asked()).toBe(1);
    for (const topic of ['one', 'two']) expect(await asked({ arguments: { topic } })).toBe(1);
    expect(await asked({}, 'bob')).toBe(2);
  },

  'sep-9999-verification-uses-ssrf-hardened-path': async () => {
    const local = await listening('private.example.com');
    const { subscribe } = serving();
    expect((await subscribe(local.url)).error?.code).toBe(-32_015);
    expect(local.connections).toBe(0);
    await local.stop();
    const other = await endpoint(HOOK_SECRET);
    expect(await refusal({ status: 307, headers: { location: other.url } })).toBe(
      'challenge_failed',
    );
    expect(other.received).toEqual([]);
  },

  'sep-9999-verification-no-raw-endpoint-responses': async () => {
    const { subscribe } = serving();
    const hook = await endpoint(HOOK_SECRET);
    hook.reply = () => ({ status: 418, body: 'internal text', headers: { 'x-own': 'internal' } });
    const response = await subscribe(hook.url);
    expect(response.error?.data).toEqual({ reason: 'challenge_failed' });
    expect(JSON.stringify(response)).not.toMatch(/internal|418/);
  },
};

/** The checks of MCPJam about webhooks and about ChatGPT, by its names. */
export const MCPJAM: Checks = {
  'chatgpt-readiness-webhook-listed': async () => {
    const { result } = await serving().call('events/list');
    const events = result?.['events'] as { delivery: string[] }[];
    expect(events.flatMap(({ delivery }) => delivery)).toContain('webhook');
  },

  'chatgpt-readiness-protocol-version': async () => {
    const { call, send } = serving();
    const { result } = await call('server/discover');
    expect(result?.['supportedVersions']).toContain('2026-07-28');
    const { headers, status } = await send('events/list');
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json']);
  },

  'events-webhook-id-equals-event-id': async () => {
    const { hook, publish } = await subscribed();
    await publish('one');
    await until(() => hook.events.length === 1);
    const { body, headers } = hook.events[0] ?? {};
    expect([headers?.['webhook-id'], body?.['eventId']]).toEqual(['one', 'one']);
  },

  'events-receiver-consent': async () => {
    const { hook, id, publish } = await subscribed();
    expect(hook.received).toMatchObject([{ body: { type: 'verification' } }]);
    expect(id).toMatch(/^sub_/);
    await publish('one');
    await until(() => hook.events.length === 1);
    expect(hook.received).toHaveLength(2);
  },

  'events-consent-failure-blocks-delivery': async () => {
    const { publish, subscribe } = serving();
    const hook = await endpoint(HOOK_SECRET);
    hook.reply = () => ({ status: 200, body: '{"challenge":"wrong"}' });
    expect((await subscribe(hook.url)).error?.code).toBe(-32_015);
    hook.reply = () => undefined;
    await publish('one');
    await pass(60_000);
    await settle();
    expect(hook.events).toEqual([]);
  },

  'events-private-callback-rejected': async () => {
    const { subscribe } = serving({ webhooks: { allowInsecureLocalhost: false } });
    const hook = await endpoint(HOOK_SECRET);
    for (const url of [hook.url, 'https://10.0.0.1/hook', 'https://192.168.1.1/hook'])
      expect((await subscribe(url)).error?.code).toBe(-32_602);
    expect(hook.received).toEqual([]);
  },

  'events-no-redirect-follow': async () => {
    const { hook, publish } = await subscribed();
    const other = await endpoint(HOOK_SECRET);
    hook.reply = () => ({ status: 302, headers: { location: other.url } });
    await publish('one');
    await until(() => hook.events.length === 1);
    await settle();
    expect(other.received).toEqual([]);
  },

  'events-unsubscribe-twice': async () => {
    const { hook, unsubscribe } = await subscribed();
    for (const _ of [1, 2])
      expect((await unsubscribe(hook.url)).result).toEqual({ resultType: 'complete' });
  },
};

/** Addresses that are not of the public internet, in several spellings, and private names. */
const PRIVATE = [
  ...['127.0.0.1', '10.0.0.1', '172.16.0.1', '192.168.0.1', '169.254.169.254', '100.64.0.1'],
  ...['0.0.0.0', '224.0.0.1', '240.0.0.1', '[::1]', '[fe80::1]', '[fc00::1]', '[2001:db8::1]'],
  ...['[::ffff:10.0.0.1]', '0x7f.1', '2130706433', 'localhost', 'printer.local', 'intranet'],
];

/** Returns why an endpoint with this reply to its challenge is refused. */
async function refusal(reply: EndpointReply): Promise<unknown> {
  const hook = await endpoint(HOOK_SECRET);
  hook.reply = () => reply;
  const { error } = await serving().subscribe(hook.url);
  expect(error).toMatchObject({ code: -32_015, data: { reason: expect.any(String) } });
  const { reason } = (error?.data ?? {}) as { reason?: unknown };
  return reason;
}

/** A server on this machine under a name that seems public. It counts its connections. */
async function listening(host: string) {
  const server = createServer((socket) => {
    own.connections += 1;
    socket.destroy();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  ADDRESSES.set(host, '127.0.0.1');
  const own = {
    url: `https://${host}:${portOf(server)}/hook`,
    connections: 0,
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
  return own;
}
