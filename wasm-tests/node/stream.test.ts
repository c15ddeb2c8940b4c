import { InMemoryBus } from 'mcp-listen';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { acknowledged, listChanged, updated } from '../host/listen.ts';
import { listenRequest, open, serving } from './serving.ts';

const TOOLS = { toolsListChanged: true };
const RESULT =
  '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":1}}}';

/** A server, its bus, and how many streams the bus knows. */
function watched(options: object = {}) {
  const bus = new InMemoryBus();
  return { server: serving({ bus, ...options }), attached: () => bus.attached };
}

describe('a stream', () => {
  test('begins with the ack, and tells of what it honors only', async () => {
    const { server } = watched();
    const stream = await open(server, { ...TOOLS, resourceSubscriptions: ['note://a'] });
    expect(Object.fromEntries(stream.response.headers)).toEqual({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    expect(await stream.event()).toBe(
      `event: message\ndata: ${acknowledged('1', { ...TOOLS, resourceSubscriptions: ['note://a'] })}`,
    );
    await server.notify.promptsChanged();
    await server.notify.resourceUpdated('note://b');
    await server.notify.resourcesChanged();
    await server.notify.resourceUpdated('note://a');
    await server.notify.toolsChanged();
    expect(await stream.message()).toBe(updated('1', 'note://a'));
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
  });

  test('that nobody reads collapses whatever happens into one cue a key', async () => {
    const { server } = watched();
    const uris = ['note://a', 'note://b'];
    const stream = await open(server, { resourceSubscriptions: uris });
    for (let round = 0; round < 50_000; round += 1) {
      for (const uri of uris) void server.notify.resourceUpdated(uri);
    }
    void server.close();
    const messages: string[] = [];
    for (let message = await stream.message(); message !== undefined; message = await stream.message())
      messages.push(message);
    expect(messages[0]).toContain('acknowledged');
    expect(messages.at(-1)).toBe(RESULT);
    const cues = messages.slice(1, -1);
    expect(new Set(cues)).toEqual(new Set(uris.map((uri) => updated('1', uri))));
    expect(cues.length).toBeLessThanOrEqual(4);
  });
});

describe('a stream ends', () => {
  test('gracefully with the result, after what was pending', async () => {
    const { attached, server } = watched();
    const stream = await open(server, TOOLS);
    await server.notify.toolsChanged();
    const closed = server.close();
    expect(await stream.message()).toBe(acknowledged('1', TOOLS));
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    expect(await stream.message()).toBe(RESULT);
    expect(await stream.message()).toBeUndefined();
    await closed;
    expect(attached()).toBe(0);
    expect((await server.fetch(listenRequest(TOOLS))).status).toBe(503);
  });

  test('without a result when its reader takes nothing until close gives up', async () => {
    const { attached, server } = watched({ limits: { closeMs: 20 } });
    const response = await server.fetch(listenRequest(TOOLS));
    await server.close();
    expect(attached()).toBe(0);
    expect(await response.text()).toBe(`event: message\ndata: ${acknowledged('1', TOOLS)}\n\n`);
  });

  test('when its reader cancels', async () => {
    const { attached, server } = watched();
    const { body } = await server.fetch(listenRequest(TOOLS));
    expect(attached()).toBe(1);
    await body?.cancel();
    expect(attached()).toBe(0);
    await server.notify.toolsChanged();
  });

  test('when its request is aborted, before or after the ack', async () => {
    const { attached, server } = watched();
    const abort = new AbortController();
    await server.fetch(listenRequest(TOOLS, { signal: abort.signal }));
    expect(attached()).toBe(1);
    abort.abort();
    expect(attached()).toBe(0);
    await server.fetch(listenRequest(TOOLS, { signal: abort.signal }));
    expect(attached()).toBe(0);
  });

  test('at once where nothing is honored, without a place on the bus', async () => {
    const { attached, server } = watched({ capabilities: {} });
    const stream = await open(server, TOOLS);
    expect(attached()).toBe(0);
    expect(await stream.message()).toBe(acknowledged('1', {}));
    expect(await stream.message()).toBe(RESULT);
    expect(await stream.message()).toBeUndefined();
  });

  test('with a drop when its bus is lost', async () => {
    const bus = new InMemoryBus();
    const lose: ((error: Error) => void)[] = [];
    const attach = bus.attach.bind(bus);
    vi.spyOn(bus, 'attach').mockImplementation((filter, link) => {
      lose.push((error) => link.lost(error));
      return attach(filter, link);
    });
    const stream = await open(serving({ bus }), TOOLS);
    await stream.message();
    lose[0]?.(new Error('gone'));
    expect(await stream.message()).toBeUndefined();
    expect(bus.attached).toBe(0);
  });

  test('and a thousand of them, opened and dropped in one tick, leave nothing behind and are no error', async () => {
    const onerror = vi.fn();
    const { attached, server } = watched({ onerror });
    const aborts = Array.from({ length: 1_000 }, () => new AbortController());
    const opened = aborts.map(({ signal }) => server.fetch(listenRequest(TOOLS, { signal })));
    for (const abort of aborts) abort.abort();
    await Promise.all(opened);
    expect(attached()).toBe(0);
    expect(onerror).not.toHaveBeenCalled();
  });
});

describe('keep-alives', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('come after 15 seconds of silence, give or take a fifth, each stream with its own interval', async () => {
    const { server } = watched();
    const intervals = new Set<number>();
    for (let count = 0; count < 20; count += 1) {
      const stream = await open(server, TOOLS);
      await stream.block();
      const opened = performance.now();
      const comment = stream.block();
      await vi.advanceTimersToNextTimerAsync();
      expect(await comment).toBe(': keep-alive');
      const interval = performance.now() - opened;
      expect(interval).toBeGreaterThanOrEqual(12_000);
      expect(interval).toBeLessThanOrEqual(18_002);
      intervals.add(interval);
      stream.drop();
    }
    expect(intervals.size).toBeGreaterThan(10);
  });

  test('are put off by everything that is written', async () => {
    const { server } = watched({ keepAliveMs: 1_000 });
    const stream = await open(server, TOOLS);
    await stream.block();
    for (let round = 0; round < 10; round += 1) {
      await vi.advanceTimersByTimeAsync(700);
      await server.notify.toolsChanged();
      expect(await stream.block()).not.toBe(': keep-alive');
    }
  });

  test.each([0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31])(
    'an interval of %s means none',
    async (keepAliveMs) => {
      const { server } = watched({ keepAliveMs });
      const stream = await open(server, TOOLS);
      await stream.block();
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  test('and all other timers go when the stream ends', async () => {
    const { server } = watched();
    const stream = await open(server, TOOLS);
    await stream.block();
    expect(vi.getTimerCount()).toBe(1);
    stream.drop();
    expect(vi.getTimerCount()).toBe(0);
  });
});
