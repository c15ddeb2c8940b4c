import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Workerd } from '../../../scripts/workerd/workerd.mjs';
import { callRequest } from '../../host/call.ts';
import { startFixture } from '../../host/fixture/start.ts';
import { LegacySession } from '../../host/legacy.ts';
import {
  acknowledged,
  LISTEN_HEADERS,
  listen,
  listenBody,
  updated,
  WITH_TASKS,
  type WireStream,
} from '../../host/listen.ts';
import { GatewayFixture } from '../../host/servers/gateway.ts';
import { GuardedServer, json } from '../../host/servers/guarded.ts';
import { WatchedServer } from '../../host/servers/watched.ts';

const SALARIES = 'hr://salaries';
const NOTE = 'note://a';
const BOB = { authorization: 'Bearer bob' };
const ADMIN = { authorization: 'Bearer admin' };

/** Bob may read the note, and the administrator everything. */
function guarded(): GuardedServer {
  return new GuardedServer({
    bob: { uris: [NOTE] },
    admin: { uris: [NOTE, SALARIES], taskIds: ['t-9f'] },
  });
}

/** Starts a gateway that watches that server as the administrator, for the tests of a describe. */
function watching(text: Record<string, string> = {}) {
  const behind = guarded();
  let gateway: GatewayFixture;
  beforeAll(async () => {
    gateway = await GatewayFixture.start(await behind.start(), {
      UPSTREAM_TOKEN: 'admin',
      ...text,
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    behind.stop();
  });
  return { behind, gateway: () => gateway };
}

describe('a stream of a gateway that watches with UPSTREAM_TOKEN', () => {
  const { behind, gateway } = watching();

  test('honors exactly what the server acknowledges for its caller', async () => {
    const filter = { resourceSubscriptions: [SALARIES, NOTE] };
    const admin = await gateway().subscribe(filter, { headers: ADMIN, edge: 1 });
    expect(await admin.message()).toBe(acknowledged('1', filter));
    // The watch listens to both, and cues both.
    expect([await admin.message(), await admin.message()].sort()).toEqual([
      updated('1', SALARIES),
      updated('1', NOTE),
    ]);
    // The other stream opens after these cues, so it does not receive them.
    const bob = await gateway().subscribe(filter, { headers: BOB });
    expect(await bob.message()).toBe(acknowledged('1', { resourceSubscriptions: [NOTE] }));
    behind.update(SALARIES);
    expect(await admin.message()).toBe(updated('1', SALARIES));
    await gateway().publish({ kind: 'resource_updated', uri: SALARIES });
    expect(await admin.message()).toBe(updated('1', SALARIES));
    behind.update(NOTE);
    expect(await bob.message()).toBe(updated('1', NOTE));
  });

  test('honors nothing if its caller may receive nothing of its filter', async () => {
    const bob = await gateway().subscribe({ resourceSubscriptions: [SALARIES] }, { headers: BOB });
    expect(await bob.message()).toBe(acknowledged('1', {}));
  });

  test('honors a task only for the callers that the server allows it', async () => {
    const bob = await gateway().subscribe(
      { taskIds: ['t-9f'], resourceSubscriptions: [NOTE] },
      init(BOB),
    );
    expect(await bob.message()).toBe(acknowledged('1', { resourceSubscriptions: [NOTE] }));
    const admin = await gateway().subscribe({ taskIds: ['t-9f'] }, init(ADMIN));
    expect(await admin.message()).toBe(acknowledged('1', { taskIds: ['t-9f'] }));
    await expect.poll(() => behind.count(/^admin subscriptions.*note.*t-9f/)).toBe(1);
    behind.advance('t-9f');
    expect(await admin.message()).toContain('"taskId":"t-9f"');
  });

  test('honors nothing if the server serves no subscriptions, which is logged', async () => {
    behind.trick = (_incoming, outgoing, method) => {
      const isListen = method === 'subscriptions/listen';
      if (isListen)
        json(
          outgoing,
          404,
          '{"jsonrpc":"2.0","id":"mcp-listen:probe","error":{"code":-32601,"message":"x"}}',
        );
      return isListen;
    };
    const stream = await gateway().subscribe({ resourceSubscriptions: [NOTE] }, { headers: ADMIN });
    expect(await stream.message()).toBe(acknowledged('1', {}));
    expect(gateway().log()).toContain('supports no subscriptions');
    behind.trick = () => false;
  });

  test('is refused if its filter exceeds a limit of the server', async () => {
    const error = { code: -32_602, message: 'too many resource uris', data: { limit: 1 } };
    behind.trick = (_incoming, outgoing, method) => {
      const isListen = method === 'subscriptions/listen';
      if (isListen)
        json(outgoing, 400, JSON.stringify({ jsonrpc: '2.0', id: 'mcp-listen:probe', error }));
      return isListen;
    };
    const { status } = await fetch(gateway().mcp(), {
      method: 'POST',
      headers: { ...LISTEN_HEADERS, ...ADMIN },
      body: listenBody({ resourceSubscriptions: [SALARIES, NOTE] }),
    });
    expect(status).toBe(503);
    expect(gateway().log()).toContain('did not acknowledge a subscription');
    behind.trick = () => false;
  });
});

describe('a session of a gateway that watches with UPSTREAM_TOKEN', () => {
  const { behind, gateway } = watching();

  test('receives only what the server acknowledges for its caller', async () => {
    const [bob, admin] = await Promise.all(
      [BOB, ADMIN].map((headers) => LegacySession.begin(gateway().via(), headers)),
    );
    const message = {
      jsonrpc: '2.0',
      id: 1,
      method: 'resources/subscribe',
      params: { uri: SALARIES },
    };
    expect((await bob?.post(message, BOB))?.status).toBe(200);
    expect((await admin?.post(message, ADMIN))?.status).toBe(200);
    const abort = new AbortController();
    const streams = await Promise.all([
      bob?.get(BOB, abort.signal),
      admin?.get(ADMIN, abort.signal),
    ]);
    await gateway().publish({ kind: 'resource_updated', uri: SALARIES });
    behind.update(SALARIES);
    await gateway().publish({ kind: 'tools_list_changed' });
    expect(await until(streams[1], SALARIES)).toContain(SALARIES);
    expect(behind.count(/^bob subscriptions\/listen .*hr:\/\/salaries/)).toBeGreaterThan(0);
    expect(await until(streams[0], 'tools/list_changed')).not.toContain(SALARIES);
    abort.abort();
  });

  test('cannot be used by another caller', async () => {
    const session = await LegacySession.begin(gateway().via(), ADMIN);
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    expect((await session.post(ping, BOB)).status).toBe(404);
    expect((await session.get(BOB)).status).toBe(404);
    expect((await session.post(ping, ADMIN)).status).toBe(200);
  });
});

describe("a gateway with UPSTREAM_RIGHTS: 'admitted'", () => {
  const { behind, gateway } = watching({ UPSTREAM_RIGHTS: 'admitted' });

  test('honors everything, and does not watch tasks', async () => {
    const bob = await gateway().subscribe(
      { taskIds: ['t-9f'], resourceSubscriptions: [SALARIES] },
      init(BOB),
    );
    expect(await bob.message()).toBe(
      acknowledged('1', { resourceSubscriptions: [SALARIES], taskIds: ['t-9f'] }),
    );
    expect(await bob.message()).toBe(updated('1', SALARIES));
    expect(behind.count(/^admin subscriptions.*salaries/)).toBe(1);
    expect(behind.count(/t-9f/)).toBe(0);
  });
});

describe("a gateway with UPSTREAM_TOKEN and EVENTS_RIGHTS: 'admitted'", () => {
  const { gateway } = watching({ EVENTS: '{"order.paid":{}}', EVENTS_RIGHTS: 'admitted' });

  /** Polls for events with a credential. */
  function poll({ authorization }: typeof BOB, cursor?: string): Promise<Response> {
    const params = { name: 'order.paid', ...(cursor !== undefined && { cursor }) };
    const request = callRequest(gateway().mcp(), 'events/poll', params);
    request.headers.set('authorization', authorization);
    return fetch(request);
  }

  test('gives events to every caller that the server serves, and changes only as before', async () => {
    const { result } = (await (await poll(BOB)).json()) as Polled;
    await gateway().publish({ kind: 'event', name: 'order.paid', data: { id: 7 } });
    const polled = await (await poll(BOB, result.cursor)).json();
    expect(polled).toMatchObject({ result: { events: [{ data: { id: 7 } }] } });
    expect((await poll({ authorization: 'Bearer eve' })).status).toBe(401);
    const stream = await gateway().subscribe(
      { resourceSubscriptions: [SALARIES, NOTE] },
      { headers: BOB },
    );
    expect(await stream.message()).toBe(acknowledged('1', { resourceSubscriptions: [NOTE] }));
  });
});

describe('a gateway with tenants by path', () => {
  const behind = guarded();
  let gateway: GatewayFixture;
  beforeAll(async () => {
    const text = { TENANTS: 'path', TENANT_NAMES: 'acme,globex', UPSTREAM_WATCH: 'off' };
    gateway = await GatewayFixture.start(await behind.start(), text);
  });
  afterAll(async () => {
    await gateway?.stop();
    behind.stop();
  });

  test('honors only what the server acknowledges by default', async () => {
    const filter = { taskIds: ['t-9f'], resourceSubscriptions: [SALARIES, NOTE] };
    const bob = await gateway.subscribe(filter, { ...init(BOB), tenant: '/globex' });
    expect(await bob.message()).toBe(acknowledged('1', { resourceSubscriptions: [NOTE] }));
  });

  test('names the tenant to the server in every request', async () => {
    behind.requests.length = 0;
    const headers = { authorization: 'Bearer admin', 'x-forwarded-prefix': '/acme' };
    const stream = await gateway.subscribe(
      { resourceSubscriptions: [NOTE] },
      { headers, tenant: '/globex', edge: 1 },
    );
    expect(await stream.message()).toBe(acknowledged('1', { resourceSubscriptions: [NOTE] }));
    await gateway.via({ tenant: '/globex' })({ method: 'POST', headers, body: '{"id":1}' });
    const prefixes = behind.requests.map((request) => request.headers['x-forwarded-prefix']);
    expect(prefixes.length).toBeGreaterThan(2);
    expect(new Set(prefixes)).toEqual(new Set(['/globex']));
    expect(behind.requests[0]?.headers['x-forwarded-host']).toBe(new URL(gateway.origin(1)).host);
  });

  test('names no tenant in a request for the metadata of the protected resource', async () => {
    behind.requests.length = 0;
    await fetch(`${gateway.origin()}/.well-known/oauth-protected-resource/mcp`);
    expect(behind.requests.map((request) => request.headers['x-forwarded-prefix'])).toEqual([
      undefined,
    ]);
  });
});

describe('rights that expire', () => {
  const behind = guarded();
  let workerd: Workerd;
  const streams: WireStream[] = [];

  beforeAll(async () => {
    const text = { UPSTREAM: await behind.start() };
    workerd = await startFixture({
      bundle: inject('fixtureBundle'),
      edges: 1,
      text,
      reachesLocal: true,
    });
  });
  afterAll(async () => {
    for (const stream of streams) stream.drop();
    await workerd?.stop();
    behind.stop();
  });

  async function open(headers: Record<string, string>): Promise<WireStream> {
    const stream = await listen(
      `${workerd.edges[0]}/gated/mcp`,
      { resourceSubscriptions: [NOTE] },
      { headers },
    );
    streams.push(stream);
    expect(await stream.message()).toBe(acknowledged('1', { resourceSubscriptions: [NOTE] }));
    return stream;
  }

  /** Publishes from another request of the isolate that holds the streams. */
  function publish(): Promise<Response> {
    const body = JSON.stringify({ kind: 'resource_updated', uri: NOTE });
    return fetch(`${workerd.edges[0]}/publish`, { method: 'POST', body });
  }

  test('are renewed before a cue, and a stream without them ends', async () => {
    const [bob, admin] = [await open(BOB), await open(ADMIN)];
    await new Promise((resolve) => setTimeout(resolve, 300));
    await publish();
    for (const stream of [bob, admin]) expect(await stream.message()).toBe(updated('1', NOTE));
    expect(behind.count(/^bob subscriptions/)).toBe(2);
    behind.rights['bob'] = {};
    await new Promise((resolve) => setTimeout(resolve, 300));
    await publish();
    expect(await bob.message()).toBeUndefined();
    expect(await admin.message()).toBe(updated('1', NOTE));
  });

  test.each([429, 502, 503, 504])(
    'count while the server responds with %i, until it denies the caller',
    async (status) => {
      const admin = await open(ADMIN);
      for (const [responded, message] of [
        [status, updated('1', NOTE)],
        [401, undefined],
      ] as const) {
        behind.trick = (_incoming, outgoing) => {
          outgoing.writeHead(responded).end();
          return true;
        };
        await new Promise((resolve) => setTimeout(resolve, 300));
        await publish();
        expect(await admin.message()).toBe(message);
      }
      behind.trick = () => false;
    },
  );
});

test.each([
  [
    { UPSTREAM_TOKEN: 'admin', TENANTS: 'path', TENANT_NAMES: 'acme' },
    'UPSTREAM_TOKEN and TENANTS exclude each other',
  ],
  [
    { UPSTREAM_TOKEN: 'admin', UPSTREAM_RIGHTS: 'Admitted' },
    'UPSTREAM_RIGHTS must be acknowledged or admitted',
  ],
  [{ UPSTREAM_WATCH: 'Off' }, 'UPSTREAM_WATCH must be on or off'],
  [{ CREDENTIAL_HEADERS: 'x-api-key,' }, 'credentialHeaders must be a list'],
  [{ SUBREQUESTS: 'all' }, 'subrequests must be a number of at least 0'],
  [{ EVENTS: '{"order.paid":' }, 'EVENTS must list event types as JSON'],
  [{ EVENTS: '{"order.paid":{"schema":{}}}' }, 'the definition of order.paid has no schema'],
  [{ WEBHOOK_KEY: 'secret' }, 'WEBHOOK_KEY requires EVENTS'],
  [{ EVENTS_RIGHTS: 'admitted' }, 'EVENTS_RIGHTS requires EVENTS'],
  [{ EVENTS: '{"order.paid":{}}', EVENTS_RIGHTS: 'all' }, 'EVENTS_RIGHTS must be admitted'],
  [
    { EVENTS: '{"order.paid":{}}', WEBHOOK_KEY: 'secret' },
    'webhooks.encryptionKey must be 32 bytes in base64',
  ],
  [{ EVENTS: '{"order paid":{}}' }, 'the name of an event type has letters'],
  [
    { EVENTS: '{"order.paid":{}}', UPSTREAM_TOKEN: 'admin' },
    'events need an authorize of defineEvents, or the rights admitted',
  ],
])('the Worker does not start with %j', async (text, error) => {
  await expect(GatewayFixture.start('http://127.0.0.1:1/mcp', text)).rejects.toThrow(error);
});

test('with a server of the official SDK, which acknowledges everything, everything is honored', async () => {
  const behind = new WatchedServer();
  const gateway = await GatewayFixture.start(await behind.start(), { UPSTREAM_TOKEN: 'own' });
  const filter = { toolsListChanged: true, resourceSubscriptions: [NOTE] };
  const stream = await gateway.subscribe(filter, { headers: BOB });
  expect(await stream.message()).toBe(acknowledged('1', filter));
  // The cues of the new watch.
  await stream.message();
  await stream.message();
  behind.notify.resourceUpdated(NOTE);
  expect(await stream.message()).toBe(updated('1', NOTE));
  await gateway.stop();
  await behind.stop();
});

/** The response to `events/poll`. */
interface Polled {
  result: { cursor: string };
}

function init(headers: Record<string, string>) {
  return { headers, capabilities: WITH_TASKS };
}

/** Reads a stream until `wanted` has arrived. */
async function until(response: Response | undefined, wanted: string): Promise<string> {
  const reader = response?.body?.pipeThrough(new TextDecoderStream() as never).getReader();
  let text = '';
  while (!text.includes(wanted)) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: '' };
    if (done) return text;
    text += value as string;
  }
  return text;
}
