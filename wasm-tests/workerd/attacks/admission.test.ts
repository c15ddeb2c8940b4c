import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LegacySession } from '../../host/legacy.ts';
import { acknowledged } from '../../host/listen.ts';
import { GatewayFixture } from '../../host/servers/gateway.ts';
import { GuardedServer, json, type Trick } from '../../host/servers/guarded.ts';
import { sdkSessions } from '../../host/sessions/sdk.ts';

const SECRET = { resourceSubscriptions: ['hr://salaries'] };
const BOB = { authorization: 'Bearer bob' };
const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };

/** Serves only `server/discover` and `initialize`, by which callers are admitted. */
function admission(
  respond: (...args: Parameters<Trick>) => void,
  methods = ['server/discover', 'initialize'],
): Trick {
  return (incoming, outgoing, method) => {
    const isAdmission = methods.includes(method);
    if (isAdmission) respond(incoming, outgoing, method);
    return isAdmission;
  };
}

function errorText(code: number): string {
  return `{"jsonrpc":"2.0","id":"mcp-listen:discover","error":{"code":${code},"message":"x"}}`;
}

function resultText(result: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 'mcp-listen:discover', result });
}

const CAPABILITIES = { tools: { listChanged: true }, resources: { subscribe: true } };
const DISCOVERED = resultText({
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: CAPABILITIES,
});
const INITIALIZED = resultText({
  protocolVersion: '2025-11-25',
  capabilities: CAPABILITIES,
  serverInfo: { name: 'behind', version: '1' },
});

/** Starts a gateway in front of a server that knows Bob, for the tests of a describe. */
function withGateway(text: Record<string, string> = {}) {
  const behind = new GuardedServer({ bob: {} });
  let gateway: GatewayFixture;
  beforeAll(async () => {
    gateway = await GatewayFixture.start(await behind.start(), { UPSTREAM_WATCH: 'off', ...text });
  });
  beforeEach(() => {
    behind.trick = () => false;
  });
  afterAll(async () => {
    await gateway?.stop();
    behind.stop();
  });
  return { behind, gateway: () => gateway };
}

/** Responses of the upstream server to admission, and the status of a listen. */
const ADMISSIONS: [status: number, text: string, expected: number][] = [
  [200, '{}', 503],
  [200, errorText(-32601), 503],
  [200, errorText(-32001), 503],
  [202, '', 503],
  [302, '', 503],
  [400, errorText(-32601), 503],
  [400, errorText(-32000), 503],
  [400, errorText(-32022), 503],
  [401, '', 401],
  [403, '', 403],
  [404, errorText(-32601), 503],
  [404, 'Not found', 503],
  [405, '', 503],
  [408, '', 503],
  [413, '', 503],
  [414, '', 503],
  [415, '', 503],
  [418, '', 503],
  [429, '', 503],
  [431, '', 503],
  [500, '', 503],
  [503, '', 503],
];

describe('a listen', () => {
  const { behind, gateway } = withGateway();

  /** Sends a listen to an isolate that knows the server's capabilities. */
  async function listenWith(
    headers: Record<string, string>,
    trick: Trick = () => false,
  ): Promise<Response> {
    await gateway().subscribe({ toolsListChanged: true }, { headers: BOB });
    behind.trick = trick;
    return (await gateway().subscribe(SECRET, { headers })).response;
  }

  test('with large header fields is admitted by its credentials only', async () => {
    const response = await listenWith({ 'x-pad': 'a'.repeat(20_000) });
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([
      401,
      'Bearer realm="behind"',
    ]);
  });

  test.each(['authorization', 'cookie'])(
    'with a field %s longer than the server reads is refused',
    async (name) => {
      expect((await listenWith({ [name]: `Bearer ${'a'.repeat(20_000)}` })).status).toBe(503);
    },
  );

  test.each(ADMISSIONS)(
    'of a caller to whom the server responds with %i %s gets %i',
    async (status, text, expected) => {
      const trick = admission((_incoming, outgoing) => json(outgoing, status, text));
      const headers = { authorization: `Bearer bob-${status}-${text.length}` };
      expect((await listenWith(headers, trick)).status).toBe(expected);
    },
  );

  test('gets the Retry-After of an overloaded server', async () => {
    const trick = admission((_incoming, outgoing) =>
      json(outgoing, 429, '', { 'retry-after': '77' }),
    );
    const { headers, status } = await listenWith({ authorization: 'Bearer hurried' }, trick);
    expect([status, headers.get('retry-after')]).toEqual([503, '77']);
  });

  test('is refused if the response of the server does not end', async () => {
    const trick = admission((_incoming, outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'application/json' }).write('{"jsonrpc"');
    });
    expect((await listenWith({ authorization: 'Bearer endless' }, trick)).status).toBe(503);
  }, 25_000);

  test.each([
    [undefined],
    ['2025-11-25'],
    ['2025-11-25, 2026-07-28'],
    ['2026-07-28, 2025-11-25'],
    ['2026-07-29'],
  ])('with the version %s is not admitted', async (version) => {
    const headers = { 'mcp-protocol-version': version };
    const stream = await gateway().subscribe(SECRET, { headers });
    expect([400, 401]).toContain(stream.response.status);
  });
});

describe('a session', () => {
  const { gateway } = withGateway();

  test('needs credentials for every request that the gateway serves itself', async () => {
    const session = await LegacySession.begin(gateway().via(), BOB);
    const requests = [
      'ping',
      'resources/subscribe',
      'resources/unsubscribe',
      'notifications/initialized',
    ];
    for (const method of requests) {
      const id = method.startsWith('notifications/') ? {} : { id: 1 };
      const response = await session.post({
        jsonrpc: '2.0',
        ...id,
        method,
        params: { uri: 'note://a' },
      });
      expect([method, response.status]).toEqual([method, 401]);
    }
    expect((await session.get()).status).toBe(401);
    expect((await session.end()).status).toBe(401);
    expect((await session.post(PING, BOB)).status).toBe(200);
  });
});

describe('a server of 2025 that does not know server/discover', () => {
  const unknown = admission(
    (_incoming, outgoing) => json(outgoing, 400, errorText(-32601)),
    ['server/discover'],
  );

  describe('by default', () => {
    const { behind, gateway } = withGateway();

    test('admits callers by its response to initialize', async () => {
      behind.trick = unknown;
      const session = await LegacySession.begin(gateway().via(), BOB);
      expect((await session.post(PING)).status).toBe(401);
      expect((await session.post(PING, BOB)).status).toBe(200);
    });
  });

  describe("with UNKNOWN_METHOD: 'admitted'", () => {
    const { behind, gateway } = withGateway({ UNKNOWN_METHOD: 'admitted' });

    test('admits all callers, but not to the sessions of others', async () => {
      behind.trick = unknown;
      const session = await LegacySession.begin(gateway().via(), BOB);
      expect((await session.post(PING)).status).toBe(404);
      expect((await session.post(PING, BOB)).status).toBe(200);
      expect(behind.count('bob initialize')).toBe(1);
    });
  });
});

test('admission leaves no session at a server of the 2025 SDK', async () => {
  const behind = await sdkSessions();
  const gateway = await GatewayFixture.start(behind.url, { UPSTREAM_WATCH: 'off' });
  const session = await gateway.session();
  expect((await session.post(PING)).status).toBe(200);
  expect(behind.sessions()).toBe(1);
  await gateway.stop();
  await behind.stop();
});

describe('a caller who writes its token in several ways', () => {
  const { behind, gateway } = withGateway();
  /** The same token each time. */
  const spelled = (count: number) => ({
    authorization: `${count % 2 === 0 ? 'Bearer ' : 'bEARER   '}bob`,
    cookie: `x=${count}`,
  });
  beforeAll(() => {
    behind.rights['bEARER   bob'] = {};
  });

  test('has as many streams as one caller', async () => {
    const statuses = [];
    for (let count = 0; count < 24; count += 1) {
      const stream = await gateway().subscribe(
        { toolsListChanged: true },
        { headers: spelled(count) },
      );
      statuses.push(stream.response.status);
    }
    expect(statuses).toEqual([
      ...Array.from({ length: 16 }, () => 200),
      ...Array.from({ length: 8 }, () => 429),
    ]);
  });

  test('has as many sessions as one caller', async () => {
    const sessions: LegacySession[] = [];
    for (let count = 0; count < 20; count += 1)
      sessions.push(await LegacySession.begin(gateway().via(), spelled(count)));
    const pings = await Promise.all(sessions.map((session) => session.post(PING, BOB)));
    expect(pings.filter(({ ok }) => ok)).toHaveLength(16);
  });

  test('keeps its session when a load balancer sets a cookie', async () => {
    const session = await LegacySession.begin(gateway().via(), BOB);
    expect((await session.post(PING, { ...BOB, cookie: 'AWSALB=1' })).status).toBe(200);
  });
});

describe('a cookie', () => {
  /** Serves requests with a user in their cookie. */
  const byCookie: Trick = ({ headers }, outgoing, method) => {
    const isKnown = headers.cookie?.startsWith('user=') === true;
    if (isKnown) json(outgoing, 200, method === 'initialize' ? INITIALIZED : DISCOVERED);
    return isKnown;
  };

  describe('by default', () => {
    const { behind, gateway } = withGateway();

    test('names no caller, but is sent to the server for admission', async () => {
      behind.trick = byCookie;
      const session = await LegacySession.begin(gateway().via(), { cookie: 'user=ann' });
      expect((await session.post(PING, { cookie: 'user=ben' })).status).toBe(200);
      expect((await session.post(PING)).status).toBe(401);
    });
  });

  describe('in CREDENTIAL_HEADERS', () => {
    const { behind, gateway } = withGateway({ CREDENTIAL_HEADERS: 'Cookie' });

    test('names its caller', async () => {
      behind.trick = byCookie;
      const session = await LegacySession.begin(gateway().via(), { cookie: 'user=ann' });
      expect((await session.post(PING, { cookie: 'user=ben' })).status).toBe(404);
      expect((await session.post(PING, { cookie: 'user=ann' })).status).toBe(200);
    });
  });
});

describe('a server that admits all callers', () => {
  const { behind, gateway } = withGateway();
  const open: Trick = admission((_incoming, outgoing, method) =>
    json(outgoing, 200, method === 'initialize' ? INITIALIZED : DISCOVERED),
  );
  const unnamed = () =>
    behind.requests.filter(({ headers }) => headers.authorization === undefined).length;

  test('names no caller by a token that it does not need, and gets that question once', async () => {
    behind.trick = open;
    const session = await LegacySession.begin(gateway().via(), {
      authorization: 'Bearer made-up-0',
    });
    for (let count = 1; count < 6; count += 1) {
      const response = await session.post(PING, { authorization: `Bearer made-up-${count}` });
      expect(response.status).toBe(200);
    }
    expect(unnamed()).toBe(1);
  });

  test('may refuse a token', async () => {
    behind.trick = (incoming, outgoing, method) =>
      incoming.headers.authorization !== 'Bearer bad' && open(incoming, outgoing, method);
    const headers = { authorization: 'Bearer bad' };
    const { response } = await gateway().subscribe({ toolsListChanged: true }, { headers });
    expect(response.status).toBe(401);
  });
});

describe('a server that does not respond without credentials', () => {
  const { behind, gateway } = withGateway();

  test('counts as one that requires them, and serves callers with credentials', async () => {
    behind.trick = ({ headers }) => headers.authorization === undefined;
    behind.rights['ben'] = {};
    const session = await LegacySession.begin(gateway().via(), BOB);
    expect((await session.post(PING, BOB)).status).toBe(200);
    expect((await session.post(PING, { authorization: 'Bearer ben' })).status).toBe(404);
  }, 20_000);
});

describe('a slow server of 2025', () => {
  const { behind, gateway } = withGateway();
  const countOf = (method: string) => methods.filter((each) => each === method).length;
  const methods: string[] = [];

  /** Responds to each request late, and DELETE never. */
  const slow: Trick = (incoming, outgoing, method) => {
    methods.push(method);
    if (incoming.method === 'DELETE') return true;
    const isKnown = incoming.headers.authorization !== undefined;
    const [status, text] = method === 'initialize' ? [200, INITIALIZED] : [400, errorText(-32000)];
    setTimeout(
      () => json(outgoing, isKnown ? status : 401, text, { 'mcp-session-id': crypto.randomUUID() }),
      1_200,
    );
    return true;
  };

  test('serves sessions, and gets server/discover once', async () => {
    behind.trick = slow;
    const session = await LegacySession.begin(gateway().via(), BOB);
    expect((await session.post(PING, BOB)).status).toBe(200);
    const other = await LegacySession.initialize(gateway().via(), {
      authorization: 'Bearer other',
    });
    const discovers = countOf('server/discover');
    expect((await other.post(PING, { authorization: 'Bearer other' })).status).toBe(200);
    expect(countOf('server/discover')).toBe(discovers);
  }, 30_000);
});

describe('callers with API keys', () => {
  const { behind, gateway } = withGateway({ CREDENTIAL_HEADERS: 'X-API-Key, X-Tenant' });
  const filter = { toolsListChanged: true, resourceSubscriptions: ['note://a'] };

  test('get the capabilities that the server has for each of them', async () => {
    const respond = admission(({ headers }, outgoing) => {
      const capabilities =
        headers['x-api-key'] === 'ann' ? { tools: {}, resources: {} } : { tools: {} };
      const result = {
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities,
        ttlMs: 600_000,
      };
      json(outgoing, 200, resultText(result));
    });
    // The server refuses requests without a key.
    behind.trick = (...turn) => turn[0].headers['x-api-key'] !== undefined && respond(...turn);
    const ann = await gateway().subscribe(filter, { headers: { 'x-api-key': 'ann' } });
    expect(await ann.message()).toBe(acknowledged('1', filter));
    const ben = await gateway().subscribe(filter, { headers: { 'x-api-key': 'ben' } });
    expect(await ben.message()).toBe(acknowledged('1', { toolsListChanged: true }));
  });

  test('have separate limits of streams', async () => {
    const statusOf = async (key: string) => {
      const stream = await gateway().subscribe(
        { toolsListChanged: true },
        { headers: { 'x-api-key': key } },
      );
      return stream.response.status;
    };
    behind.rights['cat'] = {};
    const statuses = [];
    for (let count = 0; count < 17; count += 1) statuses.push(await statusOf('bob'));
    expect(statuses).toEqual([...Array.from({ length: 16 }, () => 200), 429]);
    expect(await statusOf('cat')).toBe(200);
  });
});
