import { createListenHandler } from 'mcp-listen';
import { defineEvents } from 'mcp-listen/events';
import { afterEach, expect, test } from 'vitest';
import { callRequest } from '../../host/call.ts';
import { endpoint } from '../../host/endpoint.ts';
import { discovering } from '../../host/servers/discovering.ts';
import { HOOK_SECRET } from '../../host/webhook.ts';
import { Cleanup } from '../cleanup.ts';
import { eventsOf, KEEPING, Places } from './places.ts';

const cleanup = new Cleanup();
const places = new Places(cleanup);

afterEach(() => cleanup.run());

test.each(KEEPING)(
  '%s: a poll in one process reads what another one published, and its cursor',
  async (_name, make, start) => {
    const { port } = await places.started(start());
    const [here, there] = [places.on(make, port), places.on(make, port)];
    const { events } = await here.call<{ events: object[] }>('events/list', {});
    expect(events[0]).toMatchObject({ name: 'paid', delivery: ['poll', 'push'] });
    const { cursor } = await there.poll();
    const receipts = [await here.paid(1), await here.paid(2)];
    expect(receipts.map(({ eventId }) => eventId)).toEqual(['1', '2']);
    expect(receipts[1]?.position).toBeGreaterThan(receipts[0]?.position ?? Infinity);
    expect(await there.numbers(cursor, 2)).toEqual([1, 2]);
    const { cursor: after } = await here.polled(cursor, 2);
    expect(await there.poll(after)).toMatchObject({ events: [], truncated: false });
    expect(await places.on(make, port).poll(after)).toMatchObject({ events: [], truncated: false });
  },
);

test.each(KEEPING)(
  '%s: streams in every process receive an occurrence once, in one order',
  async (_name, make, start) => {
    const { port } = await places.started(start());
    const [here, there] = [places.on(make, port), places.on(make, port)];
    const streams = [await here.stream(), await there.stream()];
    for (const stream of streams)
      expect(await stream.next()).toMatchObject({ params: { truncated: false } });
    await Promise.all([here.paid(1), there.paid(2), here.paid(2), there.paid(3)]);
    const [near, far] = await Promise.all(streams.map((stream) => eventsOf(stream, 3)));
    expect(near).toEqual(far);
    expect(near?.map(({ data }) => data.number).toSorted()).toEqual([1, 2, 3]);
    for (const stream of streams) stream.drop();
  },
);

test.each(KEEPING)(
  '%s: an occurrence that no server could read is refused at its publisher',
  async (_name, make, start) => {
    const { port } = await places.started(start());
    const { bus } = places.on(make, port);
    await expect(bus.emit('mcp.own', {})).rejects.toMatchObject({ code: 'invalid-event-name' });
  },
);

test.each(KEEPING)(
  '%s: no webhook can be subscribed, though the events are defined with them',
  async (_name, make, start) => {
    const { port } = await places.started(start());
    const defined = defineEvents({ paid: {} }, { webhooks: { allowInsecureLocalhost: true } });
    const bus = cleanup.later(make(port, { webhooks: defined }), (it) => it.close());
    const server = createListenHandler(discovering, { bus, events: defined, principal: () => 'a' });
    const ask = async (method: string, params: object = {}) => {
      const request = callRequest('http://localhost/mcp', method, { ...params });
      return (await server.fetch(request)).json() as Promise<object>;
    };
    expect(await ask('events/list')).toMatchObject({
      result: { events: [{ name: 'paid', delivery: ['poll', 'push'] }] },
    });
    const hook = await endpoint(HOOK_SECRET);
    const delivery = { mode: 'webhook', url: hook.url, secret: HOOK_SECRET };
    expect(await ask('events/subscribe', { name: 'paid', delivery })).toMatchObject({
      error: { code: -32_601 },
    });
    expect(hook.received).toEqual([]);
  },
);
