import { createListenHandler, InMemoryBus, ListenError } from 'mcp-listen';
import { describe, expect, test, vi } from 'vitest';
import { LISTEN_HEADERS, listenBody } from '../../host/listen.ts';
import { CAPABILITIES, declaring } from '../../host/options.ts';
import { BreakableBus } from '../bus/breakable-bus.ts';
import { FAILING, listenRequest, open, refusal, serving, URL } from '../serving.ts';

const TOOLS = { toolsListChanged: true };
const NO_AMOUNTS = [Number.NaN, -1, '16', null];
const LIMITS = [
  'maxRequestBodySize',
  'headerBytes',
  'maxSubscriptions',
  'maxSubscriptionsPerPrincipal',
  'maxSubscriptionsPerAddress',
  'namesBytes',
  'sessions',
];
const TIMEOUTS = ['responseMs', 'attachMs', 'authorizeMs', 'bodyMs', 'sessionIdleMs', 'writeMs'];
const INTERVALS = ['authorizationTtlMs', 'busProbeIntervalMs', 'keepAliveMs', 'maxConnectionAgeMs'];

describe('a listen is refused for', () => {
  test.each([
    ['a body that is no JSON', '{', 400, -32700],
    ['a body that is no request', '[]', 400, -32600],
    ['an invalid id', listenBody({}, 'null'), 400, -32600],
    ['an invalid filter', listenBody({ toolsListChanged: 1 }), 400, -32602],
    ['a body that is too large', listenBody({}) + ' '.repeat(65_537), 413, -32600],
  ])('%s', async (_name, body, status, code) => {
    const response = await serving().fetch(
      new Request(URL, { method: 'POST', headers: LISTEN_HEADERS, body }),
    );
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await refusal(response)).toEqual({ status, code, retryAfter: null });
  });

  test('more than its limits, which are options', async () => {
    const server = serving({ limits: { uris: 1, maxRequestBodySize: 1_000, idBytes: 2 } });
    expect(
      await refusal(await server.fetch(listenRequest({ resourceSubscriptions: ['a', 'b'] }))),
    ).toMatchObject({
      code: -32602,
    });
    expect(
      await refusal(
        await server.fetch(listenRequest({ resourceSubscriptions: ['a'.repeat(1_000)] })),
      ),
    ).toMatchObject({ status: 413 });
    expect(await refusal(await server.fetch(listenRequest({}, { id: '"abc"' })))).toMatchObject({
      code: -32600,
    });
    expect(
      (await server.fetch(listenRequest({ resourceSubscriptions: ['a'] }, { id: '"ab"' }))).status,
    ).toBe(200);
  });

  test('invalid options, at once', () => {
    expect(() => serving({ limits: { uris: 1.5 } })).toThrow(ListenError);
    expect(() => serving({ server: declaring(7 as unknown as object) })).toThrow(
      expect.objectContaining({ code: 'invalid-options' }),
    );
  });
});

/** An environment variable that is not set becomes such a limit, and no number exceeds `NaN`. */
test.each(LIMITS)('a limit %s that is not a number from 0 is refused', (name) => {
  for (const limit of NO_AMOUNTS) {
    expect(() => serving({ limits: { [name]: limit } })).toThrow(
      expect.objectContaining({
        code: 'invalid-options',
        message: `limits.${name} must be a number of at least 0`,
      }),
    );
  }
});

test.each(TIMEOUTS)('a timeout %s that is not a number from 0 is refused', (name) => {
  for (const ms of NO_AMOUNTS) {
    expect(() => serving({ timeouts: { [name]: ms } })).toThrow(
      expect.objectContaining({
        code: 'invalid-options',
        message: `timeouts.${name} must be a number of at least 0`,
      }),
    );
  }
});

test.each(INTERVALS)('an interval %s that is not a number from 0 is refused', (name) => {
  for (const ms of NO_AMOUNTS) {
    expect(() => serving({ [name]: ms })).toThrow(
      expect.objectContaining({
        code: 'invalid-options',
        message: `${name} must be a number of at least 0`,
      }),
    );
  }
});

/** A misspelt limit would have no effect. */
test.each(['limits', 'timeouts'])('an unknown name in %s is refused', (place) => {
  expect(() => serving({ [place]: { streams: 1 } })).toThrow(
    expect.objectContaining({
      code: 'invalid-options',
      message: `unknown option ${place}.streams`,
    }),
  );
});

test('a limit that is undefined has its default', async () => {
  const server = serving({
    limits: { maxSubscriptionsPerPrincipal: undefined as unknown as number },
    principal: () => 'a',
  });
  for (let count = 0; count < 16; count += 1) await open(server, TOOLS);
  expect((await server.fetch(listenRequest(TOOLS))).status).toBe(429);
});

describe('maxSubscriptions', () => {
  test('refuses one more stream before the ack, until a stream ends', async () => {
    const server = serving({ limits: { maxSubscriptions: 2 } });
    const one = await open(server, TOOLS);
    await open(server, TOOLS);
    expect(await refusal(await server.fetch(listenRequest(TOOLS)))).toEqual({
      status: 503,
      code: -32603,
      retryAfter: '2',
    });
    one.drop();
    await expect.poll(async () => (await server.fetch(listenRequest(TOOLS))).status).toBe(200);
  });

  test('counts streams that are still opening', async () => {
    const bus = new BreakableBus();
    bus.availability = 'silent';
    const server = serving({ bus, limits: { maxSubscriptions: 1 } });
    void server.fetch(listenRequest(TOOLS));
    await expect.poll(async () => (await server.fetch(listenRequest(TOOLS))).status).toBe(503);
  });

  test('is checked after authorize', async () => {
    const server = serving({ limits: { maxSubscriptions: 0 }, authorize: () => ({ denied: 401 }) });
    expect((await server.fetch(listenRequest(TOOLS))).status).toBe(401);
    await server.close();
    expect((await server.fetch(listenRequest(TOOLS))).status).toBe(401);
  });

  test('is checked before the capabilities are requested', async () => {
    const handler = vi.fn(() => new Response());
    const server = createListenHandler(handler, { limits: { maxSubscriptions: 0 } });
    expect((await server.fetch(listenRequest(TOOLS))).status).toBe(503);
    expect(handler).not.toHaveBeenCalled();
  });

  test('does not count streams that were refused or have ended', async () => {
    const server = serving({ limits: { maxSubscriptions: 1 } });
    for (let round = 0; round < 3; round += 1) {
      expect((await open(server, { toolsListChanged: 1 })).response.status).toBe(400);
      const empty = await open(server, {});
      while ((await empty.message()) !== undefined);
    }
    expect((await open(server, TOOLS)).response.status).toBe(200);
  });
});

describe('a bus that fails', () => {
  test('while a stream opens: 503, reported to onError, nothing left behind', async () => {
    const onError = vi.fn();
    const bus = new BreakableBus();
    bus.availability = 'down';
    const server = serving({ bus, onError });
    expect(await refusal(await server.fetch(listenRequest(TOOLS)))).toEqual({
      status: 503,
      code: -32603,
      retryAfter: '2',
    });
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'bus-unavailable' }));
    bus.availability = 'open';
    expect((await server.fetch(listenRequest(TOOLS))).status).toBe(200);
  });

  test('by throwing: 503', async () => {
    const bus = new BreakableBus();
    vi.spyOn(bus, 'openStream').mockImplementation(() => {
      throw new Error('broken');
    });
    const server = serving({ bus, onError: vi.fn() });
    expect(await refusal(await server.fetch(listenRequest(TOOLS)))).toMatchObject({ status: 503 });
  });

  test('by never responding: 503 after attachMs, and its socket is closed', async () => {
    const bus = new BreakableBus();
    bus.availability = 'silent';
    const onError = vi.fn();
    const server = serving({ bus, onError, timeouts: { attachMs: 20 } });
    expect(await refusal(await server.fetch(listenRequest(TOOLS)))).toMatchObject({ status: 503 });
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'attach-timeout' }));
    expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([true]);
  });

  test('to feed the streams of its process: 503, reported to onError, nothing left behind', async () => {
    const onError = vi.fn();
    const bus = new InMemoryBus();
    const feed = vi.spyOn(bus, 'subscribeAll').mockImplementation(() => {
      throw new ListenError('bus-unavailable', 'down');
    });
    const server = serving({ bus, onError });
    expect(await refusal(await server.fetch(listenRequest(TOOLS)))).toMatchObject({
      status: 503,
      retryAfter: '2',
    });
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'bus-unavailable' }));
    expect(server.stats().open).toBe(0);
    feed.mockRestore();
    expect((await server.fetch(listenRequest(TOOLS))).status).toBe(200);
  });
});

describe('authorize', () => {
  test('narrows the honored filter to what it returns', async () => {
    const requests: unknown[] = [];
    const server = serving({
      authorize: ({ request, requested }) => {
        requests.push([request.headers.get('authorization'), requested]);
        return { toolsListChanged: true, resourceSubscriptions: ['a', 'z'] };
      },
    });
    const filter = { promptsListChanged: true, resourceSubscriptions: ['a', 'b'] };
    const stream = await server.fetch(
      listenRequest(filter, { headers: { authorization: 'Bearer t' } }),
    );
    expect(await stream.body?.getReader().read()).toMatchObject({ done: false });
    expect(requests).toEqual([['Bearer t', filter]]);
    const wire = await open(server, filter);
    expect(await wire.message()).toContain('"notifications":{"resourceSubscriptions":["a"]}');
  });

  test('is called for each listen, also while another one of the client is open', async () => {
    const authorize = vi.fn(({ request, requested }: { request: Request; requested: object }) =>
      request.headers.get('authorization') === 'Bearer t' ? requested : { denied: 401 as const },
    );
    const server = serving({ authorize });
    const allowed = { headers: { authorization: 'Bearer t' } };
    expect((await server.fetch(listenRequest(TOOLS, allowed))).status).toBe(200);
    for (const headers of [{}, { authorization: 'Bearer other' }]) {
      const denied = await server.fetch(listenRequest(TOOLS, { headers }));
      expect(denied.status).toBe(401);
      expect(await refusal(denied)).toMatchObject({ code: -32600 });
      expect((await server.fetch(listenRequest(TOOLS, allowed))).status).toBe(200);
    }
    expect(authorize).toHaveBeenCalledTimes(5);
    expect(server.stats().open).toBe(3);
  });

  test.each([401, 403] as const)('denies with %s', async (denied) => {
    const server = serving({
      authorize: async () => ({ denied, wwwAuthenticate: 'Bearer realm="x"' }),
    });
    const response = await server.fetch(listenRequest(TOOLS));
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="x"');
    expect(await refusal(response)).toEqual({ status: denied, code: -32600, retryAfter: null });
  });

  test.each([
    ...FAILING,
    ['returns no filter', () => undefined as unknown as object, 'authorizer-failed'],
    [
      'returns a filter of wrong types',
      () => ({ toolsListChanged: 1 }) as unknown as object,
      'invalid-filter',
    ],
  ])('that %s gives 503 without details', async (_name, authorize, code) => {
    const onError = vi.fn();
    const server = serving({ authorize, onError, timeouts: { authorizeMs: 20 } });
    const response = await server.fetch(listenRequest(TOOLS));
    // The text of a stream does not end.
    expect(response.status).toBe(503);
    expect(await response.clone().text()).not.toContain('secret');
    expect(await refusal(response)).toEqual({ status: 503, code: -32603, retryAfter: '2' });
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code }));
  });

  test('is not called for a malformed listen', async () => {
    const authorize = vi.fn(() => ({}));
    await serving({ authorize }).fetch(listenRequest({ toolsListChanged: 1 }));
    expect(authorize).not.toHaveBeenCalled();
  });
});

test('the errors of a server without onError are logged', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const server = createListenHandler(() => new Response(), {
    server: declaring(CAPABILITIES),
    authorize: () => Promise.reject(new Error('x')),
  });
  await server.fetch(listenRequest(TOOLS));
  expect(log).toHaveBeenCalledWith(
    'mcp-listen:',
    expect.objectContaining({ code: 'authorizer-failed' }),
  );
  log.mockRestore();
});
