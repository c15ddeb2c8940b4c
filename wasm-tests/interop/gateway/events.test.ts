import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { createListenHandler, InMemoryBus } from 'mcp-listen';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { root } from '../../../scripts/process/project.mjs';
import { call, callRequest } from '../../host/call.ts';
import { endpoint } from '../../host/endpoint.ts';
import { streamEvents } from '../../host/events.ts';
import { acknowledged, listChanged } from '../../host/listen.ts';
import { type NodeServer, serveOnNode } from '../../host/node-http.ts';
import { GatewayFixture } from '../../host/servers/gateway.ts';
import { SECRET } from '../../host/signing.ts';
import { HOOK_SECRET } from '../../host/webhook.ts';
import { PythonClient } from '../clients/python.ts';
import { Notifications, typescriptClient } from '../clients/typescript.ts';
import { type PythonServer, pythonServer } from '../servers/python.ts';

const EXTENSION = 'io.modelcontextprotocol/events';
const TYPES = {
  'order.paid': {
    description: 'An order was paid',
    inputSchema: { type: 'object', properties: { customer: { type: 'string' } } },
    payloadSchema: {
      type: 'object',
      properties: { customer: { type: 'string' }, amount: { type: 'number' } },
      required: ['customer', 'amount'],
    },
    match: { customer: '/customer' },
  },
};
/** The capabilities of a server that notifies of changes of its event types. */
const LISTED = { events: { listChanged: true } };
const OFFERED = { [EXTENSION]: LISTED.events };
const ACME = { customer: 'acme', amount: 12 };
const GLOBEX = { customer: 'globex', amount: 3 };

describe('a gateway with EVENTS, in front of a server of the Python SDK', () => {
  let server: PythonServer;
  let gateway: GatewayFixture;

  beforeAll(async () => {
    server = await pythonServer('stateless');
    gateway = await GatewayFixture.start(server.url, { EVENTS: await documentedTypes() });
  });

  afterAll(async () => {
    await gateway?.stop();
    server?.stop();
  });

  test('adds the capability in both places to what the server announces', async () => {
    const direct = await typescriptClient(server.url);
    const client = await typescriptClient(gateway.mcp(0));
    const { extensions, ...others } = client.getServerCapabilities() ?? {};
    expect(extensions).toEqual({ ...direct.getServerCapabilities()?.extensions, ...OFFERED });
    expect(Object.keys(others)).toEqual(
      expect.arrayContaining(Object.keys(direct.getServerCapabilities() ?? {})),
    );
    const { result } = await call<Discovered>(gateway.mcp(1), 'server/discover');
    expect(result?.capabilities).toMatchObject({ ...LISTED, extensions: OFFERED });
    await Promise.all([direct.close(), client.close()]);
  });

  test('lists the types, and delivers what is posted to polls and streams that match', async () => {
    const { result } = await call(gateway.mcp(0), 'events/list');
    const { match: _match, ...shown } = TYPES['order.paid'];
    expect(result).toMatchObject({
      events: [{ name: 'order.paid', delivery: ['poll', 'push'], ...shown }],
    });
    const { cursor } = await poll(gateway);
    const all = await streamEvents(gateway.mcp(0), { name: 'order.paid' }, 'all');
    const acme = await streamEvents(gateway.mcp(0), {
      name: 'order.paid',
      arguments: { customer: 'acme' },
    });
    for (const reader of [all, acme])
      expect(await reader.next()).toMatchObject({ method: 'notifications/events/active' });
    await publish(gateway, [paid(GLOBEX), paid(ACME, 'order-7')]);
    for (const data of [GLOBEX, ACME]) expect(await all.next()).toMatchObject({ params: { data } });
    expect(await acme.next()).toMatchObject({ params: { eventId: 'order-7', data: ACME } });
    expect((await poll(gateway, cursor)).events).toMatchObject([{ data: GLOBEX }, { data: ACME }]);
    for (const reader of [all, acme]) reader.drop();
  });

  test('still forwards what the server serves, and delivers its changes', async () => {
    const python = new PythonClient(gateway.mcp(1), 'auto');
    expect(await python.callTool('touch')).toBe('touched');
    await python.stop();
    const client = await typescriptClient(gateway.mcp(0));
    const notifications = new Notifications(client);
    const subscription = await client.listen({ resourceSubscriptions: ['note://b'] });
    await publish(gateway, [paid(ACME), { kind: 'resource_updated', uri: 'note://b' }]);
    expect(await notifications.next()).toBe('resources/updated note://b');
    await subscription.close();
    await client.close();
  });

  test.each([
    ['an unknown name', { kind: 'event', name: 'order.lost', data: {} }, 'invalid-event-name'],
    ['a bad payload', paid({ customer: 'acme' }), 'invalid-event-data'],
  ])('refuses %s at /publish, and publishes nothing of the array', async (_case, bad, error) => {
    const { cursor } = await poll(gateway);
    const response = await publish(gateway, [paid(ACME), bad]);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error, index: 1 });
    expect((await poll(gateway, cursor)).events).toEqual([]);
  });

  test('serves requests for other types itself', async () => {
    const { error, status } = await call(gateway.mcp(0), 'events/poll', { name: 'order.lost' });
    expect([status, error?.data]).toEqual([400, { kind: 'event' }]);
  });
});

describe('a gateway without event types, in front of a server that has some', () => {
  const behind = createListenHandler(discovering, {
    bus: new InMemoryBus({ events: eventLog() }),
    events: defineEvents(TYPES),
  });
  let node: NodeServer;
  let gateway: GatewayFixture;

  beforeAll(async () => {
    node = await serveOnNode(behind.fetch);
    gateway = await GatewayFixture.start(`${node.origin}/mcp`);
  });

  afterAll(async () => {
    await gateway?.stop();
    await node?.stop();
    await behind.close();
  });

  test.each([
    ['events/list', {}],
    ['events/poll', { name: 'order.lost' }],
    ['events/subscribe', { name: 'order.paid' }],
  ])(
    'passes %s to the server, and its response to the client, byte for byte',
    async (method, params) => {
      const [direct, passed] = await Promise.all(
        [`${node.origin}/mcp`, gateway.mcp(0)].map((url) =>
          fetch(callRequest(url, method, params)),
        ),
      );
      expect(passed?.status).toBe(direct?.status);
      expect(await passed?.text()).toBe(await direct?.text());
    },
  );

  test('keeps the capability of the server in both places', async () => {
    const { result } = await call<Discovered>(gateway.mcp(0), 'server/discover');
    expect(result?.capabilities).toMatchObject({ events: {}, extensions: { [EXTENSION]: {} } });
  });

  test('passes the messages of a stream as they arrive, and its end to the server', async () => {
    const reader = await streamEvents(gateway.mcp(0), { name: 'order.paid' }, 'passed');
    expect(await reader.next()).toMatchObject({ method: 'notifications/events/active' });
    for (const data of [ACME, GLOBEX]) {
      await behind.notify.event('order.paid', data);
      expect(await reader.next()).toMatchObject({
        method: 'notifications/events/event',
        params: { data, _meta: { 'io.modelcontextprotocol/subscriptionId': 'passed' } },
      });
    }
    reader.drop();
    const open = async () => {
      // workerd notices a closed connection when it next writes.
      await behind.notify.event('order.paid', ACME);
      return behind.stats().open;
    };
    await expect.poll(open).toBe(0);
  });

  test('watches its list of event types for those who listen', async () => {
    const filter = { eventsListChanged: true };
    const stream = await gateway.subscribe(filter, { edge: 1 });
    expect(await stream.message()).toBe(acknowledged('1', filter));
    // The list may have changed before the gateway watched it.
    expect(await stream.message()).toBe(listChanged('1', 'events'));
    await behind.notify.eventsChanged();
    expect(await stream.message()).toBe(listChanged('1', 'events'));
    stream.drop();
  });

  test('refuses occurrences at /publish', async () => {
    const response = await publish(gateway, paid(ACME));
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: 'unknown-event-kind' },
    ]);
  });
});

describe('a gateway with WEBHOOK_KEY, in front of a server that needs credentials', () => {
  let node: NodeServer;

  beforeAll(async () => {
    node = await serveOnNode(async (request) =>
      request.headers.has('authorization') ? discovering(request) : new Response(null, DENIED),
    );
  });

  afterAll(() => node?.stop());

  /** Starts the gateway with further variables. Stops it after the test. */
  async function started(text: Record<string, string> = {}): Promise<GatewayFixture> {
    const gateway = await GatewayFixture.start(`${node.origin}/mcp`, {
      EVENTS: JSON.stringify(TYPES),
      WEBHOOK_KEY: btoa('k'.repeat(32)),
      UPSTREAM_WATCH: 'off',
      ...text,
    });
    onTestFinished(() => gateway.stop());
    return gateway;
  }

  test('offers webhooks to callers that the server knows, at endpoints that are public', async () => {
    const gateway = await started();
    const { status } = await call(gateway.mcp(0), 'events/list');
    expect(status).toBe(401);
    expect(await asAda(gateway, 'events/list', {})).toMatchObject({
      result: { events: [{ delivery: ['poll', 'push', 'webhook'] }] },
    });
    const subscription = subscriptionOf('https://127.0.0.1/hook');
    expect(await asAda(gateway, 'events/subscribe', subscription)).toMatchObject({
      error: { code: -32_602, message: 'the callback url has an address that is not public' },
    });
  });

  test('delivers what is posted to endpoints that consent, until they are unsubscribed', async () => {
    const gateway = await started({ DEMO_CALLERS: 'on' });
    const hook = await endpoint(HOOK_SECRET);
    const subscription = subscriptionOf(hook.url);
    expect(await asAda(gateway, 'events/subscribe', subscription)).toMatchObject({
      result: { id: expect.stringMatching(/^sub_/), truncated: false },
    });
    let failures = 0;
    hook.reply = ({ body }) => {
      const fails = body['eventId'] === 'order-2' && failures === 0;
      failures += Number(fails);
      return fails ? 503 : undefined;
    };
    await publish(gateway, [paid(GLOBEX), paid(ACME, 'order-1'), paid(ACME, 'order-2')]);
    const ids = () => hook.events.map(({ body }) => body['eventId']).sort();
    // A message that was refused is sent again after five seconds.
    await expect.poll(ids).toEqual(['order-1', 'order-2', 'order-2']);
    expect(hook.events[0]?.body).toMatchObject({ name: 'order.paid', data: ACME });
    for (const { signers } of hook.received) expect(signers).toEqual([HOOK_SECRET]);
    expect(await asAda(gateway, 'events/unsubscribe', subscription)).toHaveProperty('result');
    await publish(gateway, [paid(ACME, 'order-3')]);
    await setTimeout(1_000);
    expect(hook.events).toHaveLength(3);
  });
});

/** Sends a request with a token. */
async function asAda(gateway: GatewayFixture, method: string, params: Record<string, unknown>) {
  const request = callRequest(gateway.mcp(0), method, params);
  request.headers.set('authorization', 'Bearer ada');
  return (await fetch(request)).json();
}

/** A subscription of the orders of a customer. */
function subscriptionOf(url: string) {
  return {
    name: 'order.paid',
    arguments: { customer: 'acme' },
    delivery: { mode: 'webhook', url, secret: HOOK_SECRET },
  };
}

interface Discovered {
  capabilities: Record<string, unknown>;
}

interface Polled {
  cursor: string;
  events: unknown[];
}

/** The event types of docs/gateway-events.md. */
async function documentedTypes(): Promise<string> {
  const page = await readFile(join(root, 'docs', 'gateway-events.md'), 'utf8');
  const [, json = ''] = page.match(/^```json\n(\{\n {2}"order\.paid".*?)^```$/ms) ?? [];
  expect(JSON.parse(json)).toEqual(TYPES);
  return json;
}

/** An occurrence, as publishers post it. */
function paid(data: object, eventId?: string) {
  return { kind: 'event', name: 'order.paid', data, ...(eventId && { eventId }) };
}

async function poll(gateway: GatewayFixture, cursor?: string): Promise<Polled> {
  const params = { name: 'order.paid', ...(cursor && { cursor }) };
  return (await call<Polled>(gateway.mcp(1), 'events/poll', params)).result as Polled;
}

function publish(gateway: GatewayFixture, events: unknown): Promise<Response> {
  const headers = { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(events) };
  return fetch(`${gateway.origin(1)}/publish`, init);
}

const DENIED = { status: 401, headers: { 'www-authenticate': 'Bearer' } };

/** An MCP server with nothing but `server/discover`. */
async function discovering(request: Request): Promise<Response> {
  const { id } = (await request.json()) as { id: unknown };
  const result = {
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {} },
  };
  return Response.json({ jsonrpc: '2.0', id, result });
}
