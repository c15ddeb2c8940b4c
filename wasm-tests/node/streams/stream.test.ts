import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { acknowledged, listChanged, restOf, updated } from '../../host/listen.ts';
import { open, RESULT, TOOLS, watched } from '../serving.ts';

describe('a stream', () => {
  test('begins with the ack, and sends only what it honors', async () => {
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

  test('that is not read collapses its changes into one cue per subject', async () => {
    const { server } = watched();
    const uris = ['note://a', 'note://b'];
    const stream = await open(server, { resourceSubscriptions: uris });
    for (let round = 0; round < 50_000; round += 1) {
      for (const uri of uris) void server.notify.resourceUpdated(uri);
    }
    void server.close();
    const messages = await restOf(stream);
    expect(messages[0]).toContain('acknowledged');
    expect(messages.at(-1)).toBe(RESULT);
    const cues = messages.slice(1, -1);
    expect(new Set(cues)).toEqual(new Set(uris.map((uri) => updated('1', uri))));
    expect(cues.length).toBeLessThanOrEqual(4);
  });
});

describe('keep-alives', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('come after 15 seconds of silence, give or take a fifth', async () => {
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

  test('are delayed by every write', async () => {
    const { server } = watched({ keepAliveMs: 1_000 });
    const stream = await open(server, TOOLS);
    await stream.block();
    for (let round = 0; round < 10; round += 1) {
      await vi.advanceTimersByTimeAsync(700);
      await server.notify.toolsChanged();
      expect(await stream.block()).not.toBe(': keep-alive');
    }
  });

  test.each([0, Number.POSITIVE_INFINITY, 2 ** 31])(
    'are disabled by an interval of %s',
    async (keepAliveMs) => {
      const { server } = watched({ keepAliveMs });
      const stream = await open(server, TOOLS);
      await stream.block();
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  test('and all other timers end with the stream', async () => {
    const { server } = watched();
    const stream = await open(server, TOOLS);
    await stream.block();
    expect(vi.getTimerCount()).toBe(1);
    stream.drop();
    expect(vi.getTimerCount()).toBe(0);
  });
});
