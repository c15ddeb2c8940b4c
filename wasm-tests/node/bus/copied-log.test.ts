import { type Broker, brokerBus } from 'mcp-listen';
import { eventLog } from 'mcp-listen/events';
import { afterEach, expect, test } from 'vitest';
import type { LogCopy, LogState } from '../../../dist/bus/broker/log.js';
import { EventPlace } from '../../host/bus/event-place.ts';

const EMPTY: LogState = { epoch: 'e', first: 1, last: 0, trimmed: [] };
const places: EventPlace[] = [];

afterEach(async () => {
  for (const place of places.splice(0)) await place.bus.close();
});

/** A process whose copy of a log the test feeds, in place of a broker. */
function fed() {
  let copy: LogCopy | undefined;
  const until = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
  const broker: Broker = {
    publish: async () => {},
    follow: async (listener, signal) => {
      listener.onReady({ isContiguous: true });
      await until(signal);
    },
    close: async () => {},
    log: {
      append: async () => 1,
      follow: async (followed, signal) => {
        copy = followed;
        await until(signal);
      },
    },
  };
  const dropped: string[] = [];
  const onError = ({ message }: Error): void => void dropped.push(message);
  const place = new EventPlace(brokerBus(broker, { events: eventLog(), onError }));
  places.push(place);
  // The first question starts the copy.
  const begun = place.poll();
  return { begun, copy: () => copy as LogCopy, dropped, place };
}

function entry(position: number, id = `${position}`) {
  const text = JSON.stringify({
    kind: 'event',
    name: 'paid',
    eventId: id,
    data: { number: position },
  });
  return { position, at: 1_764_057_600_000 + position, text };
}

test('a reader waits until the copy has what its cursor names', async () => {
  const [ahead, behind] = [fed(), fed()];
  for (const { copy } of [ahead, behind]) copy().open(EMPTY);
  ahead.copy().append([entry(1), entry(2)]);
  const { cursor: start } = await behind.begun;
  const { cursor } = await ahead.place.poll(start);
  const polled = behind.place.poll(cursor);
  setTimeout(() => behind.copy().append([entry(1), entry(2), entry(3)]), 50);
  expect(await polled).toMatchObject({ events: [{ eventId: '3' }], truncated: false });
});

test('readers wait until the copy is whole', async () => {
  const { begun, copy, place } = fed();
  copy().open({ ...EMPTY, first: 4, last: 5, trimmed: [['', 3]] });
  let hasReply = false;
  const polled = begun.then((reply) => {
    hasReply = true;
    return reply;
  });
  copy().append([entry(4)]);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(hasReply).toBe(false);
  copy().append([entry(5)]);
  expect((await place.poll((await polled).cursor)).events).toEqual([]);
});

test('a copy continues where the log has all after its end, and begins again otherwise', async () => {
  const { begun, copy, place } = fed();
  expect(copy().open(EMPTY)).toBe(0);
  const { cursor } = await begun;
  copy().append([entry(1), entry(2)]);
  expect(copy().open({ ...EMPTY, first: 2, last: 3 })).toBe(2);
  copy().append([entry(3)]);
  expect((await place.poll(cursor)).events).toHaveLength(3);
  expect(copy().open({ ...EMPTY, first: 5, last: 5, trimmed: [['', 4]] })).toBe(4);
  copy().append([entry(5)]);
  expect(await place.poll(cursor)).toMatchObject({ truncated: true, hasMore: true });
  expect(copy().open({ ...EMPTY, first: 1, last: 2 })).toBe(0);
  expect(copy().open({ ...EMPTY, epoch: 'other', first: 1, last: 2 })).toBe(0);
});

test('what is no occurrence is dropped, and an entry that does not ascend is another log', async () => {
  const { begun, copy, dropped, place } = fed();
  copy().open(EMPTY);
  const { cursor } = await begun;
  copy().append([{ ...entry(1), text: '{"kind":"event"}' }, entry(2)]);
  expect((await place.poll(cursor)).events).toMatchObject([{ eventId: '2' }]);
  expect(dropped).toEqual(['a message of the bus is not an event: invalid-event-name']);
  expect(() => copy().append([entry(2)])).toThrow('begun again');
});
