import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { callRequest } from '../../../host/call.ts';
import { initialize, LegacySession, post, type Send } from '../../../host/legacy.ts';
import { GatewayFixture } from '../../../host/servers/gateway.ts';
import { GuardedServer } from '../../../host/servers/guarded.ts';
import { sessionKeeper } from '../../../host/sessions/keeper.ts';

/** The deployed gateway in front of a server that accepts a session id from any caller. */
let behind: Awaited<ReturnType<typeof sessionKeeper>>;
let gateway: GatewayFixture;

beforeAll(async () => {
  behind = await sessionKeeper();
  // The server does not serve subscriptions/listen.
  const text = {
    TENANTS: 'path',
    TENANT_NAMES: 'acme,other',
    UPSTREAM_WATCH: 'off',
    UPSTREAM_RIGHTS: 'admitted',
  };
  gateway = await GatewayFixture.start(behind.url, text);
});
afterAll(async () => {
  await gateway?.stop();
  await behind?.stop();
});
beforeEach(() => {
  behind.ends = 200;
  behind.namesAlways = false;
});

/** Sends requests with the token of a caller; undefined: without a token. */
function as(name: string | undefined, tenant = '/acme'): Send {
  const own = name === undefined ? {} : { authorization: `Bearer good-${name}` };
  return ({ headers, ...init }) =>
    gateway.via({ tenant })({ ...init, headers: { ...(headers as object), ...own } });
}

/** Begins a session of ann; `known` is its id at the upstream server. */
async function annsSession() {
  const session = await LegacySession.begin(as('ann'));
  const known = behind.ids().at(-1) ?? '';
  behind.reached.length = 0;
  return { session, known };
}

describe('a request with the session id of another caller, at the gateway or behind it', () => {
  test.each(['application/json; charset=latin1', 'application/json; charset=utf-16', 'text/plain'])(
    'is a 404 with the media type %s, and does not reach the upstream server',
    async (type) => {
      const { known, session } = await annsSession();
      const ids = [
        ['/acme', known],
        ['/other', known],
        ['/other', session.id],
      ] as const;
      for (const [tenant, id] of ids) {
        const response = await post(as('bob', tenant), CALL, {
          'content-type': type,
          'mcp-session-id': id,
        });
        expect([tenant, id, response.status]).toEqual([tenant, id, 404]);
      }
      expect(named(known)).toEqual([]);
    },
  );

  test.each(['/acme', '/other'])(
    'is forwarded without the session id if it is of 2026-07-28, at %s',
    async (tenant) => {
      const { known, session } = await annsSession();
      for (const id of [session.id, known]) {
        const request = callRequest(gateway.mcp(0, tenant), 'tools/list');
        const fields = {
          ...Object.fromEntries(request.headers),
          'mcp-session-id': id,
          'last-event-id': '7',
        };
        const init = { method: 'POST', headers: fields, body: await request.text() };
        const response = await as('bob', tenant)(init);
        expect(await response.json()).toMatchObject({
          result: { called: 'tools/list', session: null },
        });
        expect(response.headers.get('mcp-session-id')).toBeNull();
      }
      expect(
        behind.reached.filter((each) => each.session !== null || each.lastEvent !== null),
      ).toEqual([]);
    },
  );

  test('is a 404 with any method, at any path', async () => {
    const { known, session } = await annsSession();
    for (const tenant of ['/acme', '/other'])
      for (const method of ['GET', 'DELETE', 'OPTIONS'])
        for (const id of tenant === '/acme' ? [known] : [session.id, known]) {
          const headers = {
            accept: 'text/event-stream',
            'mcp-session-id': id,
            'last-event-id': '7',
          };
          expect([tenant, method, (await as('bob', tenant)({ method, headers })).status]).toEqual([
            tenant,
            method,
            404,
          ]);
        }
    expect(named(known)).toEqual([]);
    expect(await session.ask('tools/list')).toMatchObject({ result: { session: known } });
  });
});

describe('the session of another caller', () => {
  test('is not named in a request for the metadata of the protected resource', async () => {
    const { known } = await annsSession();
    const headers = {
      authorization: 'Bearer good-bob',
      'mcp-session-id': known,
      'last-event-id': '7',
    };
    await fetch(`${gateway.origin()}/.well-known/oauth-protected-resource/mcp`, { headers });
    expect(behind.reached).toMatchObject([{ method: 'GET', session: null, lastEvent: null }]);
  });

  test('is a 404 for messages, streams and DELETE', async () => {
    const { known, session } = await annsSession();
    const bobs = session.via(as('bob'));
    const latin1 = { 'content-type': 'application/json; charset=latin1' };
    const responses = [
      await bobs.post(CALL),
      await bobs.post(CALL, latin1),
      await bobs.post(PING),
      await bobs.get(),
    ];
    for (const { status } of [...responses, await bobs.end()]) expect(status).toBe(404);
    expect(named(known)).toEqual([]);
    expect(await session.ask('tools/list')).toMatchObject({ result: { session: known } });
  });
});

test('a request in a session without credentials is a 401', async () => {
  const { known, session } = await annsSession();
  const stranger = session.via(as(undefined));
  const responses = [
    await stranger.post(PING),
    await stranger.post(SUBSCRIBE),
    await stranger.post(CALL),
    await stranger.ready(),
    await stranger.get(),
    await stranger.end(),
  ];
  for (const { headers, status } of responses)
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="behind"']);
  expect(named(known)).toEqual([]);
  expect(await session.ask('ping')).toMatchObject({ result: {} });
});

test.each([401, 403, 429, 500])(
  'a session stays if the upstream server responds with %s to DELETE',
  async (status) => {
    const { session } = await annsSession();
    behind.ends = status;
    expect((await session.end()).status).toBe(status);
    expect((await session.post(PING)).status).toBe(200);
  },
);

test.each([200, 404, 405])(
  'a session ends if the upstream server responds with %s to DELETE',
  async (status) => {
    const { session } = await annsSession();
    behind.ends = status;
    expect((await session.end()).status).toBe(200);
    expect((await session.post(PING)).status).toBe(404);
  },
);

test('the id of a session does not contain the id at the upstream server', async () => {
  const { known, session } = await annsSession();
  const parts = [session.id, ...session.id.split(/[^\w-]/), ...session.id.split(/[^0-9a-f]/)];
  const read = parts.flatMap((part) =>
    (['base64', 'base64url', 'hex', 'latin1'] as const).map((code) =>
      Buffer.from(part, code).toString('latin1'),
    ),
  );
  for (const text of read) expect(text).not.toContain(known.slice('UP-'.length));
});

test('no session id of the upstream server reaches a client', async () => {
  behind.namesAlways = true;
  const { session } = await annsSession();
  const inSession = await session.post(CALL);
  expect(inSession.headers.get('mcp-session-id')).toBe(session.id);
  const latin1 = { 'content-type': 'application/json; charset=latin1' };
  const outside = [
    await post(as('ann'), CALL),
    await post(as('ann'), initialize('2025-11-25'), latin1),
    await post(as('ann'), initialize('2026-07-28'), { 'mcp-protocol-version': '2026-07-28' }),
    await post(as('ann'), CALL, { 'mcp-protocol-version': '2026-07-28' }),
  ];
  for (const response of outside) expect(response.headers.get('mcp-session-id')).toBeNull();
});

test('a caller has at most sixteen sessions, and ends none of another caller', async () => {
  const { session } = await annsSession();
  const bobs: LegacySession[] = [];
  for (let count = 0; count < 40; count += 1) bobs.push(await LegacySession.initialize(as('bob')));
  const alive = await Promise.all(bobs.map(async (each) => (await each.post(PING)).status === 200));
  expect(alive.filter(Boolean)).toHaveLength(16);
  expect(alive.slice(-16)).toEqual(Array.from({ length: 16 }, () => true));
  expect((await session.post(PING)).status).toBe(200);
});

describe('a gateway in front of a server without sessions', () => {
  const stateless = new GuardedServer({ ann: {} });
  const ANN = { authorization: 'Bearer ann' };
  let gateway: GatewayFixture;
  beforeAll(async () => {
    gateway = await GatewayFixture.start(await stateless.start(), { UPSTREAM_WATCH: 'off' });
  });
  afterAll(async () => {
    await gateway?.stop();
    stateless.stop();
  });

  test('sends the id of a session to its client only', async () => {
    const session = await LegacySession.begin(gateway.via(), ANN);
    const latin1 = { 'content-type': 'application/json; charset=latin1' };
    for (const fields of [{}, latin1, { mcp_session_id: session.id }])
      expect((await session.post(CALL, { ...ANN, ...fields })).status).toBe(200);
    expect(stateless.count('ann tools/list')).toBe(3);
    const fields = stateless.requests.flatMap(({ headers }) => Object.entries(headers));
    expect(fields.filter(([name]) => /^mcp.session.id$/.test(name))).toEqual([]);
    expect(JSON.stringify(fields)).not.toContain(session.id);
  });

  test('responds to forged session ids without a request to the server', async () => {
    const { id } = await LegacySession.begin(gateway.via(), ANN);
    const forged = [
      crypto.randomUUID(),
      `${crypto.randomUUID()}.${'0'.repeat(64)}`,
      `${crypto.randomUUID()}${id.slice(36)}`,
    ];
    stateless.requests.length = 0;
    for (const [count, made] of forged.entries()) {
      const headers = {
        authorization: `Bearer forged${count}`,
        'mcp-session-id': made,
        accept: 'text/event-stream',
      };
      for (const message of [CALL, PING, '{', [PING]])
        expect(
          (await post(gateway.via(), message, { ...headers, accept: 'application/json' })).status,
        ).toBe(404);
      for (const method of ['GET', 'DELETE', 'OPTIONS'])
        expect((await gateway.via()({ method, headers })).status).toBe(404);
    }
    expect(stateless.requests).toEqual([]);
  });

  test('denies a caller that the server denies, also with the id of a session', async () => {
    const session = await LegacySession.begin(gateway.via(), ANN);
    expect((await session.post(PING, { authorization: 'Bearer eve' })).status).toBe(401);
    expect((await session.post(PING, ANN)).status).toBe(200);
  });
});

/** The requests to the upstream server with this session of a caller other than ann. */
function named(session: string): unknown[] {
  const isAnns = ({ authorization }: { authorization: string | null }) =>
    authorization === 'Bearer good-ann';
  return behind.reached.filter((each) => each.session === session && !isAnns(each));
}

const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const PING = { jsonrpc: '2.0', id: 2, method: 'ping' };
const SUBSCRIBE = {
  jsonrpc: '2.0',
  id: 3,
  method: 'resources/subscribe',
  params: { uri: 'note://a' },
};
