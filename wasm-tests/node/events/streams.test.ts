import { createListenHandler, InMemoryBus, type ListenHandlerOptions } from 'mcp-listen';
import { defineEvents, type EventDefinition, eventLog } from 'mcp-listen/events';
import { describe, expect, test, vi } from 'vitest';
import { EventReader } from '../../host/events.ts';
import { discovering, requestOf } from './requests.ts';
import { elapse, settled, useVirtualTime } from './scripted.ts';

useVirtualTime();

/** A server with the event type `order.paid`. */
function serving(
  match: NonNullable<EventDefinition['match']>,
  options: Partial<ListenHandlerOptions> = {},
) {
  const bus = new InMemoryBus({ events: eventLog() });
  const server = createListenHandler(discovering, {
    bus,
    events: defineEvents({ 'order.paid': { match } }),
    ...options,
  });
  const open = async (args: object = {}, caller = 'ann') => {
    const request = requestOf('events/stream', { name: 'order.paid', arguments: args }, 1);
    request.headers.set('authorization', caller);
    return received(await server.fetch(request));
  };
  const publish = (number: number) => server.notify.event('order.paid', { number });
  return { bus, open, publish, server };
}

/** What a client receives: the numbers of events, and the kinds of other notifications. */
async function received(response: Response): Promise<unknown[]> {
  const reader = new EventReader(response);
  const story: unknown[] = [];
  void (async () => {
    for (;;) {
      const message = await reader.next();
      if (message === undefined) break;
      const kind = message.method?.replace('notifications/events/', '') ?? 'result';
      const { number } = (message.params?.['data'] ?? {}) as { number?: number };
      if (kind !== 'heartbeat') story.push(number ?? kind);
    }
    story.push('end');
  })();
  await settled();
  return story;
}

function delayed<T>(ms: number, value: T): Promise<T> {
  return new Promise((resolve) => setTimeout(() => resolve(value), ms));
}

describe('match', () => {
  test('of a class that takes long delays the other streams of the type by half a second', async () => {
    const match = vi.fn((args: object) => ('slow' in args ? delayed(1_500, true) : true));
    const { open, publish } = serving(match);
    const [quick, slow] = [await open(), await open({ slow: true })];
    const numbers = Array.from({ length: 30 }, (_, number) => number);
    for (const number of numbers) {
      await publish(number);
      await elapse(200);
      if (number > 3) expect(quick).toContain(number - 3);
    }
    await elapse(5_000);
    expect(quick).toEqual(['active', ...numbers]);
    expect(slow).toEqual(['active', ...numbers]);
    // At most twice each: for all streams, and for the slow one.
    expect(match.mock.calls.length).toBeLessThan(numbers.length * 3);
  });

  test('that never resolves has failed after `authorizeMs`, and the stream goes on', async () => {
    const match = (args: object, { number }: { number?: number }) =>
      'slow' in args && number === 0 ? new Promise<boolean>(() => {}) : true;
    const { open, publish } = serving(match);
    const [quick, slow] = [await open(), await open({ slow: true })];
    for (const number of [0, 1]) await publish(number);
    await elapse(600);
    expect(quick).toEqual(['active', 0, 1]);
    await elapse(2_000);
    expect(slow).toEqual(['active', 'error', 1]);
  });

  test.each([
    ['stay the same', false],
    ['grow', true],
  ])(
    'that runs while rights are renewed and %s leaves no stream without its events',
    async (_, grow) => {
      const groups = ['a'];
      const { open, publish } = serving(() => delayed(100, true), {
        principal: (request) => {
          const name = request.headers.get('authorization') ?? '';
          return delayed(name === 'bob' ? 50 : 0, { name, groups: [...groups] });
        },
        authorizationTtlMs: 1_000,
      });
      const opening = [open(), open({ other: true }, 'bob')];
      await elapse(100);
      const streams = await Promise.all(opening);
      for (let number = 0; number < 4; number += 1) {
        await elapse(1_100);
        if (grow) groups.push(`group-${number}`);
        await publish(number);
      }
      await elapse(2_000);
      for (const stream of streams) expect(stream).toEqual(['active', 0, 1, 2, 3]);
    },
  );
});

test('a log that replies after a second is read, whatever is published meanwhile', async () => {
  const { bus, open, publish } = serving({});
  const opening = open();
  await settled();
  const stream = await opening;
  const log = bus.events;
  if (log === undefined) throw new Error('no log');
  const page = log.page.bind(log);
  vi.spyOn(log, 'page').mockImplementation(async (query) => page(await delayed(1_500, query)));
  const numbers = Array.from({ length: 20 }, (_, number) => number);
  for (const number of numbers) {
    await publish(number);
    await elapse(200);
    if (number > 10) expect(stream).toContain(0);
  }
  await elapse(5_000);
  expect(stream).toEqual(['active', ...numbers]);
});
