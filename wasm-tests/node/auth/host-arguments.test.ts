import {
  type AuthorizeContext,
  createListenHandler,
  type Identity,
  isOpenStream,
  type ListenHandlerOptions,
} from 'mcp-listen';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { initialize, LegacySession } from '../../host/legacy.ts';
import { listChanged } from '../../host/listen.ts';
import { CAPABILITIES } from '../../host/options.ts';
import { BUSES } from '../bus/breakable-bus.ts';
import { listenRequest, streamOf, TOOLS, URL } from '../serving.ts';

beforeEach(() => void vi.useFakeTimers({ shouldAdvanceTime: true, advanceTimeDelta: 1 }));
afterEach(() => void vi.useRealTimers());

interface Env {
  secret: string;
}
interface Ctx {
  props: { user: string };
}
type Host = [env: Env, ctx: Ctx];

const TTL_MS = 30_000;
const ENV: Env = { secret: 'yes' };
const ANN: Ctx = { props: { user: 'ann' } };
const BOB: Ctx = { props: { user: 'bob' } };
const DECLARED = { info: { name: 'hosted', version: '1' }, capabilities: CAPABILITIES };
const DISCOVERED = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: CAPABILITIES,
};
const INITIALIZED = {
  protocolVersion: '2025-11-25',
  capabilities: CAPABILITIES,
  serverInfo: { name: 'x', version: '1' },
};

/** A server that reads the arguments of its host, and records of where they arrived. */
function hosted(options: ListenHandlerOptions<Host> = {}) {
  const handled: [method: string, ...Host][] = [];
  const handler = async (request: Request, ...rest: Host): Promise<Response> => {
    const text = await request.text();
    const { id, method } = JSON.parse(text === '' ? '{}' : text) as {
      id?: unknown;
      method?: string;
    };
    handled.push([method ?? request.method, ...rest]);
    const result = method === 'initialize' ? INITIALIZED : DISCOVERED;
    return Response.json({ jsonrpc: '2.0', id, result });
  };
  const principal = vi.fn(
    (_request: Request, _env: Env, { props }: Ctx): string | Identity => props.user,
  );
  const authorize = vi.fn(({ requested }: AuthorizeContext<Host>) => requested);
  const server = createListenHandler(handler, { principal, authorize, keepAliveMs: 0, ...options });
  return { server, handled, principal, authorize };
}

describe('the arguments that a host passes after a request', () => {
  test('reach principal, authorize and server/discover as the same values', async () => {
    const { authorize, handled, principal, server } = hosted();
    expect((await server.fetch(listenRequest(TOOLS), ENV, ANN)).status).toBe(200);
    expect(principal.mock.calls.map(([, ...rest]) => rest)).toEqual([[ENV, ANN]]);
    const asked = authorize.mock.calls[0]?.[0];
    expect(asked?.principal).toBe('ann');
    expect([asked?.args.length, asked?.args[0] === ENV, asked?.args[1] === ANN]).toEqual([
      2,
      true,
      true,
    ]);
    expect(handled).toEqual([['server/discover', ENV, ANN]]);
    expect(handled[0]?.[2]).toBe(ANN);
  });

  test.each<[string, ListenHandlerOptions<Host>]>([
    ['by default', {}],
    ["with advertise: 'all'", { advertise: 'all' }],
    ["with listen: 'off'", { listen: 'off' }],
    ["with legacy: 'sessions'", { legacy: 'sessions' }],
  ])('reach the handler behind %s', async (_, options) => {
    const { handled, server } = hosted(options);
    const headers = { 'content-type': 'application/json', 'mcp-method': 'server/discover' };
    for (const message of [
      initialize('2025-11-25'),
      { jsonrpc: '2.0', id: 1, method: 'server/discover' },
    ]) {
      const init = { method: 'POST', headers, body: JSON.stringify(message) };
      expect((await server.fetch(new Request(URL, init), ENV, BOB)).status).toBe(200);
    }
    expect(handled.length).toBeGreaterThanOrEqual(2);
    for (const [, ...rest] of handled) expect(rest).toEqual([ENV, BOB]);
  });

  test('reach principal and authorize with each request of a session', async () => {
    const { authorize, principal, server } = hosted({ legacy: 'sessions', server: DECLARED });
    let ctx = { ...ANN };
    const session = await LegacySession.begin((init) =>
      server.fetch(new Request(URL, init), ENV, ctx),
    );
    principal.mockClear();
    ctx = { ...ANN };
    await session.ask('resources/subscribe', { uri: 'note://a' });
    expect(principal.mock.calls[0]?.[2]).toBe(ctx);
    expect(authorize.mock.calls[0]?.[0].args[1]).toBe(ctx);
    ctx = { ...ANN };
    await session.open();
    expect(authorize.mock.calls[1]?.[0].args).toEqual([ENV, ctx]);
    expect(authorize.mock.calls[1]?.[0].args[1]).toBe(ctx);
  });

  test('can name another caller, who may not use the session', async () => {
    const { server } = hosted({ legacy: 'sessions', server: DECLARED });
    let ctx = ANN;
    const session = await LegacySession.begin((init) =>
      server.fetch(new Request(URL, init), ENV, ctx),
    );
    ctx = BOB;
    const response = await session.post({ jsonrpc: '2.0', id: 9, method: 'tools/list' });
    expect(response.status).toBe(404);
  });
});

describe.each(BUSES)('an open stream on %s', (_, newBus) => {
  test('passes the arguments of its request again, with isOpen', async () => {
    const { authorize, principal, server } = hosted({ bus: newBus(), server: DECLARED });
    const isOpen: boolean[] = [];
    principal.mockImplementation((request, _env, { props }) => {
      isOpen.push(isOpenStream(request));
      return props.user;
    });
    const stream = await streamOf(await server.fetch(listenRequest(TOOLS), ENV, ANN));
    const other = await streamOf(await server.fetch(listenRequest(TOOLS), ENV, BOB));
    for (const reader of [stream, other]) await reader.message();
    await vi.advanceTimersByTimeAsync(TTL_MS);
    await server.notify.toolsChanged();
    for (const reader of [stream, other])
      expect(await reader.message()).toBe(listChanged('1', 'tools'));
    expect(isOpen).toEqual([false, false, true, true]);
    const users = principal.mock.calls.map(([, , ctx]) => ctx);
    expect([users[2] === ANN, users[3] === BOB]).toEqual([true, true]);
    const [, , again] = authorize.mock.calls.map(([context]) => context);
    expect(again).toMatchObject({ isOpen: true, principal: 'ann' });
    expect([again?.args[0] === ENV, again?.args[1] === ANN]).toEqual([true, true]);
    expect(again !== undefined && isOpenStream(again.request)).toBe(true);
  });
});

test('the stream of a session passes the arguments of its GET', async () => {
  const { principal, server } = hosted({ legacy: 'sessions', server: DECLARED });
  const isOpen: boolean[] = [];
  principal.mockImplementation((request, _env, { props }) => {
    isOpen.push(isOpenStream(request));
    return props.user;
  });
  let ctx = { ...ANN };
  const session = await LegacySession.begin((init) =>
    server.fetch(new Request(URL, init), ENV, ctx),
  );
  const ofGet = { ...ANN };
  ctx = ofGet;
  const stream = await session.open();
  ctx = { ...ANN };
  await stream.event();
  await vi.advanceTimersByTimeAsync(TTL_MS);
  await server.notify.toolsChanged();
  expect(await stream.event()).toBeDefined();
  expect(principal.mock.calls.at(-1)?.[2]).toBe(ofGet);
  expect(isOpen).toEqual([false, false, false, true]);
});

test('a handler of one argument needs no type for the arguments of its host', async () => {
  const server = createListenHandler((request: Request) => new Response(request.url), {
    principal: (request) => request.headers.get('x-user') ?? undefined,
    server: DECLARED,
  });
  expect(await (await server.fetch(new Request(URL))).text()).toBe(URL);
  expect((await server.fetch(listenRequest(TOOLS))).status).toBe(200);
});
