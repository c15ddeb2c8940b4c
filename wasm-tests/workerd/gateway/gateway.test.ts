import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../../host/call.ts';
import { change, LegacySession, listChange, nextMessage } from '../../host/legacy.ts';
import { acknowledged, listChanged, updated } from '../../host/listen.ts';
import { portOf } from '../../host/port.ts';
import { GatewayFixture } from '../../host/servers/gateway.ts';

/**
 * An upstream server that responds to `x-own` requests as the test says, and all others by itself.
 */
let behind: Server;
let gateway: GatewayFixture;
let requests: IncomingMessage[] = [];
let onRequest: (incoming: IncomingMessage, outgoing: ServerResponse) => void = () => {};

const BEARER = { authorization: 'Bearer good' };
const CAPABILITIES = { tools: {}, resources: { listChanged: false }, logging: {} };

beforeAll(async () => {
  behind = createServer((incoming, outgoing) => void respond(incoming, outgoing));
  await once(behind.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${portOf(behind)}/mcp`;
  // The server does not serve subscriptions/listen.
  const text = {
    TENANTS: 'path',
    TENANT_NAMES: 'acme,other',
    UPSTREAM_WATCH: 'off',
    UPSTREAM_RIGHTS: 'admitted',
  };
  gateway = await GatewayFixture.start(url, text);
});
afterAll(async () => {
  await gateway?.stop();
  behind?.close().closeAllConnections();
});

async function respond(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  requests.push(incoming);
  if (incoming.headers['x-own'] !== undefined || incoming.url?.startsWith('/.well-known/'))
    return onRequest(incoming, outgoing);
  if (incoming.headers.authorization === 'Bearer bad') {
    outgoing.writeHead(401, { 'www-authenticate': 'Bearer realm="behind"' }).end();
    return;
  }
  let text = '';
  for await (const part of incoming.setEncoding('utf8')) text += part;
  const { id, method } = JSON.parse(text || '{}') as { id?: unknown; method?: string };
  const result = { 'server/discover': DISCOVERED, initialize: INITIALIZED }[method ?? ''] ?? {
    echoed: method,
  };
  outgoing.setHeader('content-type', 'application/json');
  if (id === undefined) outgoing.writeHead(202).end();
  else outgoing.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
}

const DISCOVERED = { supportedVersions: ['2026-07-28'], capabilities: CAPABILITIES, _meta: {} };
const INITIALIZED = {
  protocolVersion: '2025-11-25',
  capabilities: CAPABILITIES,
  serverInfo: { name: 'behind', version: '1' },
};

/** Sends a request to which the upstream server responds as the test says. */
function own(init: RequestInit, path = '/acme/mcp'): Promise<Response> {
  return fetch(gateway.origin() + path, {
    method: 'POST',
    ...init,
    headers: { 'x-own': 'yes', ...(init.headers as object) },
  });
}

describe('a forwarded request', () => {
  test('streams in both directions', async () => {
    const first = Promise.withResolvers<void>();
    onRequest = (incoming, outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
      incoming.once('data', () => first.resolve());
      incoming.on('data', (part: Buffer) => outgoing.write(`data: ${part.length > 0}\n\n`));
      incoming.once('end', () => outgoing.end('data: end\n\n'));
    };
    const parts = new TransformStream<Uint8Array, Uint8Array>();
    const writer = parts.writable.getWriter();
    const headers = { 'content-type': 'application/json' };
    const asked = own({ headers, body: parts.readable, duplex: 'half' } as RequestInit);
    // More than the gateway reads to classify the request, and less than all of it.
    await writer.write(new Uint8Array(100_000).fill(0x20));
    await first.promise;
    const reader = (await asked).body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('data: true');
    await writer.write(new TextEncoder().encode('{}'));
    await writer.close();
    let rest = '';
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
      rest += new TextDecoder().decode(part.value);
    expect(rest).toContain('data: end');
  });

  test.each([[false], [true]])(
    'ends upstream when its client leaves (during the response: %s)',
    async (hasBegun) => {
      const gone = Promise.withResolvers<void>();
      const arrived = Promise.withResolvers<void>();
      onRequest = (_incoming, outgoing) => {
        if (hasBegun)
          outgoing.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
        outgoing.once('close', () => gone.resolve());
        arrived.resolve();
      };
      const client = connect(Number(new URL(gateway.origin()).port), '127.0.0.1');
      client.write(
        `POST /acme/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Own: yes\r\nContent-Length: 2\r\n\r\n{}`,
      );
      await (hasBegun ? once(client, 'data') : arrived.promise);
      // workerd notices a reset at once, and an end only when it next writes.
      client.resetAndDestroy();
      await gone.promise;
    },
  );
});

describe('a gateway', () => {
  test('forwards to the upstream server and to no other', async () => {
    requests = [];
    onRequest = (_incoming, outgoing) =>
      outgoing.writeHead(307, { location: 'http://127.0.0.1:1/stolen' }).end();
    const redirected = await own({ body: '{}', redirect: 'manual' });
    expect([redirected.status, redirected.headers.get('location')]).toEqual([502, null]);
    await own({ body: '{}' }, '/acme/mcp?x=//evil.example/');
    expect(requests.map(({ url }) => url)).toEqual(['/mcp', '/mcp?x=//evil.example/']);
    expect(requests.every(({ headers }) => headers.host === `127.0.0.1:${portOf(behind)}`)).toBe(
      true,
    );
    requests = [];
    for (const target of [
      'http://evil.example/acme/mcp',
      '//evil.example/acme/mcp',
      '/mcp/../admin',
      '/acme/mcp/more',
    ])
      await raw(target);
    expect(requests.filter(({ url }) => url !== '/mcp')).toEqual([]);
  });

  test('serves the metadata of the protected resource beside its endpoint, and no other path', async () => {
    onRequest = (incoming, outgoing) => outgoing.end(incoming.url);
    const known = '/.well-known/oauth-protected-resource/mcp';
    expect(await (await fetch(gateway.origin() + known)).text()).toBe(known);
    for (const path of [
      '/.well-known/..%2fadmin',
      '/.well-known/',
      '/admin',
      '/mcp',
      '/acme/shard-1/mcp',
    ]) {
      const response = await fetch(gateway.origin() + path);
      expect([path, response.status]).toEqual([path, 404]);
    }
  });
});

describe('the capabilities of the upstream server', () => {
  test('get a response at the edge in both revisions, with subscriptions added', async () => {
    const offered = {
      tools: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      logging: {},
    };
    const { result } = await call<{ capabilities: unknown }>(
      gateway.mcp(0, '/acme'),
      'server/discover',
    );
    expect(result?.capabilities).toEqual(offered);
    const session = await gateway.session({ tenant: '/acme' });
    expect(session.initialized.result).toMatchObject({
      capabilities: offered,
      serverInfo: { name: 'behind' },
    });
    const everything = {
      toolsListChanged: true,
      promptsListChanged: true,
      resourceSubscriptions: ['note://a'],
    };
    const stream = await gateway.subscribe(everything, { tenant: '/acme' });
    expect(await stream.message()).toBe(
      acknowledged('1', { toolsListChanged: true, resourceSubscriptions: ['note://a'] }),
    );
  });

  test('are kept from a caller whom it refuses: its own response goes to the listen', async () => {
    const filter = { toolsListChanged: true };
    const stream = await gateway.subscribe(filter, {
      tenant: '/acme',
      headers: { authorization: 'Bearer bad' },
    });
    const { headers, status } = stream.response;
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="behind"']);
    const admitted = await gateway.subscribe(filter, { tenant: '/acme', headers: BEARER });
    expect(admitted.response.status).toBe(200);
    const session = await LegacySession.begin(gateway.via({ tenant: '/acme' }), BEARER);
    expect((await session.get({ authorization: 'Bearer bad' })).status).toBe(401);
    expect((await session.get(BEARER)).status).toBe(200);
  });
});

describe('tenants', () => {
  const watched = { resourceSubscriptions: ['note://a'] };

  test('receive their own events only, in both revisions', async () => {
    const [acme, other] = await Promise.all(
      ['/acme', '/other'].map((tenant) => gateway.subscribe(watched, { tenant, edge: 0 })),
    );
    await Promise.all([acme?.message(), other?.message()]);
    const sessions = await Promise.all(
      ['/acme', '/other'].map((tenant) => gateway.session({ tenant })),
    );
    for (const session of sessions) await session.ask('resources/subscribe', { uri: 'note://a' });
    const [old, oldOther] = await Promise.all(sessions.map((session) => gateway.open(session)));
    await gateway.publish({ kind: 'resource_updated', uri: 'note://a' }, { tenant: '/acme' });
    // Each receives its own event first.
    await gateway.publish(
      [{ kind: 'tools_list_changed' }, { kind: 'resource_updated', uri: 'note://a' }],
      {
        tenant: '/other',
      },
    );
    expect(await acme?.message()).toBe(updated('1', 'note://a'));
    expect(await nextMessage(old as never)).toEqual(change('note://a'));
    expect(await nextMessage(oldOther as never)).toEqual(listChange('tools'));
    expect(await other?.message()).toBe(updated('1', 'note://a'));
    expect(await nextMessage(oldOther as never)).toEqual(change('note://a'));
    await gateway.publish({ kind: 'tools_list_changed' }, { tenant: '/acme' });
    expect(await nextMessage(old as never)).toEqual(listChange('tools'));
  });

  test('cannot use a session of another tenant', async () => {
    const session = await gateway.session({ tenant: '/acme' });
    const elsewhere = session.via(gateway.via({ tenant: '/other' }));
    expect((await elsewhere.get()).status).toBe(404);
    expect((await elsewhere.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' })).status).toBe(
      404,
    );
    expect((await elsewhere.end()).status).toBe(404);
    expect(await session.ask('tools/list')).toMatchObject({ result: { echoed: 'tools/list' } });
  });

  test('that do not exist are a 404', async () => {
    const init = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } };
    for (const path of ['/mcp', '/a%20b/mcp', '/acme/shard-1/mcp', '/unknown/mcp']) {
      expect([path, (await fetch(gateway.origin() + path, init)).status]).toEqual([path, 404]);
    }
    // The response to a publisher does not reveal whether a tenant exists.
    for (const path of ['/acme/publish', '/acme/more/publish', '/unknown/publish']) {
      expect([path, (await fetch(gateway.origin() + path, init)).status]).toEqual([path, 401]);
    }
  });
});

test('without an upstream server, requests are a 502 and listens a 503', async () => {
  const lonely = await GatewayFixture.start('http://127.0.0.1:1/mcp');
  const { error, status } = await call(lonely.mcp(), 'tools/list');
  expect([status, error]).toEqual([
    502,
    { code: -32603, message: 'The server behind this gateway cannot be reached' },
  ]);
  expect((await lonely.subscribe({ toolsListChanged: true })).response.status).toBe(503);
  await lonely.stop();
});

test('a stream receives a change from another isolate', async () => {
  const stream = await gateway.subscribe({ toolsListChanged: true }, { tenant: '/acme', edge: 0 });
  await stream.message();
  await gateway.publish({ kind: 'tools_list_changed' }, { tenant: '/acme', edge: 1 });
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
});

/** Sends a request with a target that `fetch` would normalize; resolves once it gets a response. */
async function raw(target: string): Promise<void> {
  const socket = connect(Number(new URL(gateway.origin()).port), '127.0.0.1');
  socket.end(
    `POST ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n` +
      'Connection: close\r\nX-Own: yes\r\n\r\n{}',
  );
  await once(socket.resume(), 'close');
}
