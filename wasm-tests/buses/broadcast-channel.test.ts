import { broadcastChannelBus } from 'mcp-listen/broadcast-channel';
import { afterEach, expect, test, vi } from 'vitest';
import { listChanged, updated } from '../host/listen.ts';
import { placeOn } from './process-place.ts';

afterEach(() => {
  vi.unstubAllGlobals();
});

test('a message that could not be read is a gap', async () => {
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

test('what is no text is dropped, and told of once', async () => {
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

test('of events that come together only those are dropped that are none', async () => {
  const bus = broadcastChannelBus({ onError: () => {} });
  const heard: string[] = [];
  bus.subscribe(({ kind }) => heard.push(kind));
  await bus.ready();
  heard.length = 0;
  const stranger = new BroadcastChannel('mcp-listen');
  stranger.postMessage(
    '{"kind":"tools_list_changed"}\n{"kind":"x"}\n{\n{"kind":"prompts_list_changed"}',
  );
  await expect.poll(() => heard).toEqual(['tools_list_changed', 'prompts_list_changed']);
  expect(bus.stats().dropped).toBe(1);
  stranger.close();
  await bus.close();
});

test('buses of other names hear nothing of each other', async () => {
  const [one, other, third] = ['one', 'other', 'other'].map((bus) => broadcastChannelBus({ bus }));
  const heard: string[] = [];
  other?.subscribe(({ kind }) => heard.push(kind));
  await other?.ready();
  heard.length = 0;
  await one?.publish({ kind: 'tools_list_changed' });
  await third?.publish({ kind: 'prompts_list_changed' });
  await expect.poll(() => heard).toEqual(['prompts_list_changed']);
  await Promise.all([one, other, third].map((bus) => bus?.close()));
});
