import { natsBus } from 'mcp-listen/nats';
import { afterEach, expect, test } from 'vitest';
import { startNats } from '../brokers/broker-process.ts';
import { Cleanup } from '../cleanup.ts';
import { channel, core, eventsOf, Places, QUIET } from './places.ts';

const cleanup = new Cleanup();
const places = new Places(cleanup);

afterEach(() => cleanup.run());

test.each([
  ['NATS without JetStream', core, () => startNats(false)],
  ['BroadcastChannel', channel, undefined],
] as const)(
  '%s: streams in every process receive occurrences once, without cursors',
  async (_name, make, start) => {
    const port = start === undefined ? 0 : (await places.started(start())).port;
    const [here, there] = [places.on(make, port), places.on(make, port)];
    const { events } = await here.call<{ events: object[] }>('events/list', {});
    expect(events[0]).toMatchObject({ delivery: ['push'] });
    await expect(here.poll()).rejects.toThrow('Method not found');
    await here.bus.ready();
    const streams = [await here.stream(), await there.stream('AQAAAAAAAAABdGhlcmU')];
    for (const stream of streams)
      expect(await stream.next()).toMatchObject({ params: { cursor: null, truncated: false } });
    expect(await here.paid(1)).toEqual({ position: 0, eventId: '1' });
    for (const number of [2, 2, 3]) await here.paid(number);
    const [near, far] = await Promise.all(streams.map((stream) => eventsOf(stream, 3)));
    expect(near).toEqual(far);
    expect(near?.map(({ cursor, data }) => [cursor, data.number])).toEqual([
      [null, 1],
      [null, 2],
      [null, 3],
    ]);
    await there.paid(4);
    for (const stream of streams)
      expect(await eventsOf(stream, 1)).toMatchObject([{ eventId: '4' }]);
    for (const stream of streams) stream.drop();
  },
);

test('a bus without events passes occurrences of others over, and publishes none', async () => {
  const { port } = await places.started(startNats(false));
  const [here, there] = [places.on(core, port), natsBus(`nats://127.0.0.1:${port}`, QUIET)];
  cleanup.later(there, (it) => it.close());
  const received: object[] = [];
  there.subscribe((event: object) => received.push(event));
  await there.ready();
  received.length = 0;
  await here.paid(1);
  await here.bus.publish({ kind: 'tools_list_changed' });
  await expect.poll(() => received).toEqual([{ kind: 'tools_list_changed' }]);
  expect(there.stats().dropped).toBe(0);
  await expect(there.emit('paid', {})).rejects.toMatchObject({ code: 'events-unavailable' });
});
