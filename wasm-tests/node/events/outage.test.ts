import { createListenHandler, InMemoryBus, ListenError } from 'mcp-listen';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { expect, test, vi } from 'vitest';
import { EventReader } from '../../host/events.ts';
import { discovering, requestOf } from './requests.ts';
import { elapse, useVirtualTime } from './scripted.ts';

useVirtualTime();

/** Ten streams with a heartbeat each second, of a log that fails once it has a first event. */
async function failing(errorOf: () => Error) {
  const errors: Error[] = [];
  const bus = new InMemoryBus({ events: eventLog() });
  const server = createListenHandler(discovering, {
    bus,
    events: defineEvents({ 'order.paid': {} }),
    keepAliveMs: 1_000,
    onError: (error) => errors.push(error),
  });
  const received: unknown[][] = [];
  for (let count = 0; count < 10; count += 1) {
    const request = requestOf('events/stream', { name: 'order.paid' }, 1);
    const numbers: unknown[] = [];
    received.push(numbers);
    const reader = new EventReader(await server.fetch(request));
    void (async () => {
      for (let message = await reader.next(); message; message = await reader.next())
        if (message.method.endsWith('/event')) numbers.push(Reflect.get(message.params, 'data'));
    })();
    await elapse(100);
  }
  const page = vi.spyOn(bus.events as NonNullable<typeof bus.events>, 'page');
  page.mockImplementation(() => Promise.reject(errorOf()));
  const publish = (number: number) => server.notify.event('order.paid', { number });
  await publish(1);
  return { errors, page, publish, received, server };
}

async function pass(ms: number): Promise<void> {
  for (let step = 0; step < ms; step += 200) await elapse(200);
}

test('a log that cannot be read is read every few seconds, and reported once', async () => {
  const { errors, page, publish, received, server } = await failing(
    () => new Error('the log is away'),
  );
  await pass(20_000);
  expect(page.mock.calls.length).toBeGreaterThan(3);
  expect(page.mock.calls.length).toBeLessThan(25);
  expect(errors.map(({ message }) => message)).toEqual(['the log is away']);
  page.mockRestore();
  await pass(7_000);
  for (const numbers of received) expect(numbers).toEqual([{ number: 1 }]);
  await publish(2);
  await pass(200);
  for (const numbers of received) expect(numbers).toEqual([{ number: 1 }, { number: 2 }]);
  await server.close();
});

test('a cue reads a log at once that could not be read before', async () => {
  const { page, publish, received, server } = await failing(() => new Error('the log is away'));
  await elapse(100);
  page.mockRestore();
  await publish(2);
  await elapse(100);
  for (const numbers of received) expect(numbers).toEqual([{ number: 1 }, { number: 2 }]);
  await server.close();
});

test('the log of an overloaded bus is read soon if a cue came during the read', async () => {
  const { page, publish, received, server } = await failing(() => new Error('the log is away'));
  const fails: (() => void)[] = [];
  page.mockImplementation(
    () =>
      new Promise((_, reject) => {
        fails.push(() => reject(new ListenError('bus-overloaded', 'too much')));
      }),
  );
  await publish(2);
  await elapse(100);
  await publish(3);
  await elapse(100);
  expect(fails).toHaveLength(1);
  page.mockRestore();
  for (const fail of fails) fail();
  await pass(7_000);
  const all = [{ number: 1 }, { number: 2 }, { number: 3 }];
  for (const numbers of received) expect(numbers).toEqual(all);
  await server.close();
});

test('the log of an overloaded bus is read again after half a minute', async () => {
  const { errors, page, server } = await failing(
    () => new ListenError('bus-overloaded', 'too much'),
  );
  await pass(20_000);
  expect(page).toHaveBeenCalledTimes(1);
  await pass(18_000);
  expect(page).toHaveBeenCalledTimes(2);
  expect(errors).toHaveLength(1);
  await server.close();
});
