import { broadcastChannelBus } from 'mcp-listen/broadcast-channel';
import { afterEach, expect, test, vi } from 'vitest';
import { listChanged, updated } from '../host/listen.ts';
import { placeOn } from './members/place.ts';

afterEach(() => {
  vi.unstubAllGlobals();
});

test('a message that cannot be read is a gap', async () => {
  const channels: BroadcastChannel[] = [];
  vi.stubGlobal(
    'BroadcastChannel',
    class extends BroadcastChannel {
      constructor(name: string) {
        super(name);
        channels.push(this);
      }
    },
  );
  const bus = broadcastChannelBus({ onError: () => {} });
  const stream = await placeOn(bus).open({
    toolsListChanged: true,
    resourceSubscriptions: ['note://a'],
  });
  await stream.message();
  channels[0]?.onmessageerror?.(new MessageEvent('messageerror'));
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(await stream.message()).toBe(updated('1', 'note://a'));
  expect(bus.stats()).toEqual({ isLive: true, outages: 0, gaps: 1, dropped: 0 });
  await bus.close();
});

test('a message that is no text is dropped, and reported once', async () => {
  const onError = vi.fn();
  const bus = broadcastChannelBus({ onError });
  await bus.ready();
  const stranger = new BroadcastChannel('mcp-listen');
  stranger.postMessage({ kind: 'tools_list_changed' });
  await expect.poll(() => bus.stats().dropped).toBe(1);
  expect(onError.mock.calls.map(([error]) => [error.code, error.cause.code])).toEqual([
    ['bus-frame-dropped', 'malformed-event'],
  ]);
  stranger.close();
  await bus.close();
});

test('only the invalid events of a message are dropped', async () => {
  const bus = broadcastChannelBus({ onError: () => {} });
  const received: string[] = [];
  bus.subscribe(({ kind }) => received.push(kind));
  await bus.ready();
  received.length = 0;
  const stranger = new BroadcastChannel('mcp-listen');
  stranger.postMessage(
    '{"kind":"tools_list_changed"}\n{"kind":"x"}\n{\n{"kind":"prompts_list_changed"}',
  );
  await expect.poll(() => received).toEqual(['tools_list_changed', 'prompts_list_changed']);
  expect(bus.stats().dropped).toBe(1);
  stranger.close();
  await bus.close();
});

test('buses with different names receive nothing of each other', async () => {
  const [one, other, third] = ['one', 'other', 'other'].map((bus) => broadcastChannelBus({ bus }));
  const received: string[] = [];
  other?.subscribe(({ kind }) => received.push(kind));
  await other?.ready();
  received.length = 0;
  await one?.publish({ kind: 'tools_list_changed' });
  await third?.publish({ kind: 'prompts_list_changed' });
  await expect.poll(() => received).toEqual(['prompts_list_changed']);
  await Promise.all([one, other, third].map((bus) => bus?.close()));
});
