import { createListenHandler, InMemoryBus } from 'mcp-listen';
import { defineEvents, type EventLogOptions, eventLog } from 'mcp-listen/events';
import { expect, test } from 'vitest';
import { discovering, requestOf } from './requests.ts';

interface Polled {
  cursor: string;
  events: { eventId: string }[];
  truncated: boolean;
}

/** A server with one event type, and its bus. */
function serving(log: EventLogOptions = {}) {
  const bus = new InMemoryBus({ events: eventLog(log) });
  const events = defineEvents({ paid: {} });
  const server = createListenHandler(discovering, { bus, events });
  const poll = async (cursor?: string): Promise<Polled> => {
    const response = await server.fetch(requestOf('events/poll', { name: 'paid', cursor }, 1));
    return ((await response.json()) as { result: Polled }).result;
  };
  return { bus, poll };
}

test('an id is known only in its group', async () => {
  const { bus } = serving();
  const emitAll = async () => {
    const emitted = [{}, { group: 'g' }, { group: 'h' }].map((options) =>
      bus.emit('paid', {}, { id: 'order-7', ...options }),
    );
    return (await Promise.all(emitted)).map(({ position }) => position);
  };
  const positions = await emitAll();
  expect(new Set(positions).size).toBe(3);
  expect(await emitAll()).toEqual(positions);
});

test('most of the log remains when it has too many bytes', async () => {
  const { bus, poll } = serving({ logBytes: 20_000 });
  const { cursor } = await poll();
  for (let number = 0; number < 75; number += 1)
    await bus.emit('paid', { text: 'x'.repeat(200) }, { id: `${number}` });
  const { cursor: oldest, truncated } = await poll(cursor);
  expect(truncated).toBe(true);
  const { events } = await poll(oldest);
  expect(events.length).toBeGreaterThan(50);
  expect(events.at(-1)).toMatchObject({ eventId: '74' });
});
