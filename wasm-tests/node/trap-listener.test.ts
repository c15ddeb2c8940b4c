import { InMemoryBus, type ListenError, type ServerEvent } from 'mcp-listen';
import { afterEach, expect, test, vi } from 'vitest';
import { BusSubscriber } from '../../dist/cloudflare/edge/bus-subscriber.js';
import { poison } from '../host/poison.ts';

const CHANGED: ServerEvent = { kind: 'tools_list_changed' };

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

function listening() {
  const bus = new InMemoryBus({ onError: () => {} });
  const heard: string[] = [];
  const errors: Error[] = [];
  const listener = new BusSubscriber({
    connect: (frame, link) => bus.connect(frame, link),
    onEvent: ({ kind }) => heard.push(kind),
    onError: (error) => errors.push(error),
  });
  const codes = () => errors.map((error) => (error as ListenError).code);
  return { bus, codes, heard, listener };
}

async function trap(bus: InMemoryBus): Promise<void> {
  poison();
  await expect(bus.publish(CHANGED)).rejects.toMatchObject({ code: 'core-trapped' });
}

test('a listener attaches anew after a trap, and says that it may have missed something', async () => {
  const { bus, codes, heard, listener } = listening();
  await bus.publish(CHANGED);
  await trap(bus);
  await bus.publish(CHANGED);
  expect(heard).toEqual(['tools_list_changed', 'tools_list_changed']);
  expect(codes()).toEqual(['bus-lost']);
  listener.close();
  expect(bus.attached).toBe(0);
});

test('a listener that has left stays away after a trap', async () => {
  const { bus, codes, heard, listener } = listening();
  listener.close();
  await trap(bus);
  await bus.publish(CHANGED);
  expect([heard, codes()]).toEqual([[], []]);
});

test('a listener that a second trap meets soon attaches anew a while later', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const { bus, heard, listener } = listening();
  await trap(bus);
  await trap(bus);
  expect(bus.attached).toBe(0);
  await vi.advanceTimersByTimeAsync(11_000);
  expect(bus.attached).toBe(1);
  await bus.publish(CHANGED);
  expect(heard).toEqual(['tools_list_changed']);
  listener.close();
});
