import { createListenHandler, InMemoryBus } from 'mcp-listen';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { LIMIT_EDGES } from '../../host/corpus/limit-edges.ts';
import { LISTEN_HEADERS } from '../../host/listen.ts';
import { CAPABILITIES } from '../../host/options.ts';
import { until } from '../../host/virtual-clock.ts';
import { listenRequest, refusal, serving, TOOLS, URL } from '../serving.ts';

afterEach(() => void vi.useRealTimers());

describe.each(LIMIT_EDGES)('$name: $limit', ({ body, limit, refusal: expected }) => {
  test.each([-1, 0, 1])('plus %i', async (beyond) => {
    const init = { method: 'POST', headers: LISTEN_HEADERS, body: body(limit + beyond) };
    const response = await serving().fetch(new Request(URL, init));
    if (beyond < 1) expect(response.status).toBe(200);
    else expect(await refusal(response)).toMatchObject(expected);
  });
});

test('an isolate holds at most 4,000 streams', async () => {
  const server = serving({ keepAliveMs: 0 });
  for (let count = 0; count < 3_998; count += 1) await server.fetch(listenRequest(TOOLS));
  for (const status of [200, 200, 503])
    expect((await server.fetch(listenRequest(TOOLS))).status).toBe(status);
  expect(server.stats().open).toBe(4_000);
});

test('a stream whose opening never ends counts for its caller for a minute', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  let [asked, isAway] = [0, true];
  const handler = async (request: Request): Promise<Response> => {
    asked += 1;
    if (isAway) return new Promise(() => {});
    const { id } = (await request.json()) as { id: unknown };
    const result = { resultType: 'complete', capabilities: CAPABILITIES };
    return Response.json({ jsonrpc: '2.0', id, result });
  };
  const server = createListenHandler(handler, { principal: () => 'ann', keepAliveMs: 0 });
  for (let count = 0; count < 16; count += 1) void server.fetch(listenRequest(TOOLS));
  await until(() => asked === 16);
  isAway = false;
  vi.setSystemTime(Date.now() + 59_999);
  expect((await server.fetch(listenRequest(TOOLS))).status).toBe(429);
  expect(server.listeners('ann')).toBe(16);
  vi.setSystemTime(Date.now() + 1);
  expect((await server.fetch(listenRequest(TOOLS))).status).toBe(200);
  expect(server.listeners('ann')).toBe(1);
});

describe('authorize has two seconds', () => {
  const authorizing = (ms: number) => () =>
    new Promise<object>((resolve) => setTimeout(() => resolve(TOOLS), ms));

  test.each([
    [1_999, 200],
    [2_001, 503],
  ])('and a response after %i ms gives %i', async (ms, status) => {
    vi.useFakeTimers();
    const server = serving({ authorize: authorizing(ms), keepAliveMs: 0, onError: () => {} });
    const response = server.fetch(listenRequest(TOOLS));
    await vi.advanceTimersByTimeAsync(ms);
    expect((await response).status).toBe(status);
  });

  test.each(['authorize', 'principal'])(
    'and where %s never responds, the listen is refused after them',
    async (who) => {
      vi.useFakeTimers();
      const onError = vi.fn();
      const server = serving({ [who]: () => new Promise<never>(() => {}), onError });
      const responded = vi.fn((response: Response) => response);
      const response = server.fetch(listenRequest(TOOLS)).then(responded);
      await vi.advanceTimersByTimeAsync(1_999);
      expect(responded).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(1);
      expect(await refusal(await response)).toMatchObject({ status: 503, code: -32_603 });
      expect(onError).toHaveBeenCalledExactlyOnceWith(
        expect.objectContaining({ code: 'authorizer-timeout' }),
      );
      expect(server.stats()).toMatchObject({ opened: 0, open: 0 });
    },
  );
});

describe('a timeout of 0 is disabled', () => {
  const ANY_MS = 100_000_000;
  const late = <T>(value: T) => new Promise<T>((resolve) => setTimeout(resolve, ANY_MS, value));

  test.each([
    ['authorizeMs', () => ({ authorize: () => late(TOOLS) })],
    [
      'attachMs',
      () => ({ bus: Object.assign(new InMemoryBus(), { ready: () => late(undefined) }) }),
    ],
  ])('%s', async (name, options) => {
    vi.useFakeTimers();
    const server = serving({ ...options(), keepAliveMs: 0, timeouts: { [name]: 0 } });
    const response = server.fetch(listenRequest(TOOLS));
    await vi.advanceTimersByTimeAsync(ANY_MS);
    expect((await response).status).toBe(200);
  });

  test('responseMs', async () => {
    vi.useFakeTimers();
    const message = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      result: { capabilities: { tools: { listChanged: true } } },
    });
    const bytes = new TextEncoder().encode(message);
    const body = () =>
      new ReadableStream({
        async pull(controller) {
          controller.enqueue(await late(bytes));
          controller.close();
        },
      });
    const handler = () => new Response(body());
    const server = createListenHandler(handler, { keepAliveMs: 0, timeouts: { responseMs: 0 } });
    const response = server.fetch(listenRequest(TOOLS));
    await vi.advanceTimersByTimeAsync(ANY_MS);
    expect((await response).status).toBe(200);
  });
});
