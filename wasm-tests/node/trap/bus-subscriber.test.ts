import { InMemoryBus, type ListenError, type ServerEvent } from 'mcp-listen';
import { afterEach, expect, test, vi } from 'vitest';
import { BusSubscriber } from '../../../dist/cloudflare/edge/bus-subscriber.js';
import { poison } from '../../host/poison.ts';

const CHANGED: ServerEvent = { kind: 'tools_list_changed' };

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

function listening() {
  const bus = new InMemoryBus({ onError: () => {} });
  const received: string[] = [];
  const errors: Error[] = [];
  const listener = new BusSubscriber({
    connect: (frame, link) => bus.connect(frame, link),
    onEvent: ({ kind }) => received.push(kind),
    onError: (error) => errors.push(error),
  });
  const codes = () => errors.map((error) => (error as ListenError).code);
  return { bus, codes, received, listener };
}

async function trap(bus: InMemoryBus): Promise<void> {
  poison();
  await expect(bus.publish(CHANGED)).rejects.toMatchObject({ code: 'core-trapped' });
}

test('a listener attaches again after a trap, and reports that it may have missed events', async () => {
  const { bus, codes, received, listener } = listening();
  await bus.publish(CHANGED);
  await trap(bus);
  await bus.publish(CHANGED);
  expect(received).toEqual(['tools_list_changed', 'tools_list_changed']);
  expect(codes()).toEqual(['bus-lost']);
  listener.close();
  expect(bus.attached).toBe(0);
});

test('a listener that has left stays away after a trap', async () => {
  const { bus, codes, received, listener } = listening();
  listener.close();
  await trap(bus);
  await bus.publish(CHANGED);
  expect([received, codes()]).toEqual([[], []]);
});

test('a listener attaches again with a delay after a second trap', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const { bus, received, listener } = listening();
  await trap(bus);
  await trap(bus);
  expect(bus.attached).toBe(0);
  await vi.advanceTimersByTimeAsync(11_000);
  expect(bus.attached).toBe(1);
  await bus.publish(CHANGED);
  expect(received).toEqual(['tools_list_changed']);
  listener.close();
});
