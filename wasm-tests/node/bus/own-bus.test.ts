import {
  type Broker,
  type BrokerBusOptions,
  brokerBus,
  type ListenBus,
  type ServerEvent,
} from 'mcp-listen';
import { expect, test, vi } from 'vitest';
import type { AttachableBus } from '../../../dist/bus/attachable-bus.js';
import { acknowledged, listChanged, updated } from '../../host/listen.ts';
import { listenRequest, open, serving, TOOLS } from '../serving.ts';
import { LoopBroker } from './loop-broker.ts';

test('brokerBus reports a loss once, reconnects, and cues its streams after a gap', async () => {
  const broker = new LoopBroker();
  const onError = vi.fn();
  const bus = brokerBus(broker, { onError });
  const stream = await open(serving({ bus }), TOOLS);
  expect(await stream.message()).toBe(acknowledged('1', TOOLS));
  broker.isContiguous = false;
  broker.lose(new Error('gone'));
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(bus.stats()).toEqual({ isLive: true, outages: 1, gaps: 1, dropped: 0 });
  expect(onError.mock.calls).toEqual([[expect.objectContaining({ code: 'bus-lost' })]]);
  broker.listener?.onGap();
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  await bus.close();
  expect(await stream.message()).toBeUndefined();
});

test('a listener that leaves while another one handles a gap receives nothing more', async () => {
  const broker = new LoopBroker();
  const bus = brokerBus(broker, { onError: () => {} });
  const received: string[] = [];
  bus.subscribe(() => leave());
  const leave = bus.subscribe(({ kind }) => received.push(kind));
  await bus.ready();
  received.length = 0;
  broker.listener?.onGap();
  await bus.publish({ kind: 'tools_list_changed' });
  expect(received).toEqual([]);
  await bus.close();
});

test('processes inform each other what is wanted over a broker that has only events', async () => {
  const brokers: LoopBroker[] = [];
  const published: string[] = [];
  const busWith = (options: BrokerBusOptions) => {
    const broker = new LoopBroker();
    broker.publish = async (events) => {
      published.push(events);
      for (const { listener } of brokers) listener?.onEvents(events);
    };
    brokers.push(broker);
    return brokerBus(broker, options);
  };
  const [near, other] = [busWith({ wanted: {} }), busWith({})];
  const topic = { kind: 'tools_list_changed' } as const;
  const stream = await open(serving({ bus: near }), TOOLS);
  await expect.poll(() => published.join()).toContain('"kind":"wants"');
  const far = busWith({ wanted: {} });
  await Promise.all([far.ready(), other.ready()]);
  await expect.poll(() => far.isWanted(topic)).toBe(true);
  stream.drop();
  await expect.poll(() => far.isWanted(topic)).toBe(false);
  expect(other.stats().dropped).toBe(0);
  for (const bus of [near, far, other]) await bus.close();
});

test('a broker that throws at a signal does not keep its bus from closing', async () => {
  const broker = new LoopBroker();
  const bus = brokerBus(broker, { wanted: {}, onError: () => {} });
  const stream = await open(serving({ bus }), TOOLS);
  await stream.message();
  broker.publish = () => {
    throw new Error('the client is closed');
  };
  const close = vi.spyOn(broker, 'close');
  await bus.close();
  expect(close).toHaveBeenCalledOnce();
  expect(await stream.message()).toBeUndefined();
});

test('signals that a broker has kept are of processes that may be gone', async () => {
  const broker = new LoopBroker();
  const follow = broker.follow.bind(broker);
  const changes = [{ kind: 'wants', topic: 'tools' }];
  const kept = `signal:${JSON.stringify({ from: 'gone', number: 1, isFirst: true, changes })}`;
  broker.follow = (listener, signal) => {
    listener.onEvents(kept);
    return follow(listener, signal);
  };
  const bus = brokerBus(broker, { wanted: {} });
  await bus.ready();
  expect(await bus.isWanted({ kind: 'tools_list_changed' })).toBe(false);
  broker.listener?.onEvents(kept);
  expect(await bus.isWanted({ kind: 'tools_list_changed' })).toBe(true);
  await bus.close();
});

test('a broker with signals that it does not follow is refused for wanted', () => {
  const broker: Broker = new LoopBroker();
  broker.signal = async () => {};
  expect(() => brokerBus(broker, { wanted: {} })).toThrow('followSignals');
});

test('a bus with only the public methods serves streams', async () => {
  const listeners = new Set<(event: ServerEvent) => void>();
  const publishAll = vi.fn(async (events: ServerEvent[]) => {
    for (const event of events) for (const listener of listeners) listener(event);
  });
  const bus: ListenBus = {
    publish: (event) => publishAll([event]),
    publishAll,
    subscribe(listener) {
      listeners.add(listener as (event: ServerEvent) => void);
      return () => void listeners.delete(listener as (event: ServerEvent) => void);
    },
  };
  const server = serving({ bus });
  const stream = await open(server, { ...TOOLS, resourceSubscriptions: ['note://a'] });
  await stream.message();
  const events: ServerEvent[] = [
    { kind: 'tools_list_changed' },
    { kind: 'resource_updated', uri: 'note://a' },
  ];
  await server.bus.publishAll(events);
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(await stream.message()).toBe(updated('1', 'note://a'));
  expect(publishAll.mock.calls).toEqual([[events]]);
});

test('what attaches to a closed bus is refused, or ends', async () => {
  const bus = brokerBus(new LoopBroker(), { onError: () => {} });
  const server = serving({ bus });
  await bus.close();
  expect((await server.fetch(listenRequest(TOOLS))).status).toBe(503);
  const attachable = bus as unknown as AttachableBus;
  const sink = { streams: 0, publish: () => {}, gap: () => {}, release: () => {} };
  expect(() => attachable.subscribeAll?.(sink)).toThrow('the bus is closed');
  const onLost = vi.fn();
  attachable.connect?.('', { onFrame: () => {}, onLost }, {});
  expect(onLost.mock.calls).toEqual([[expect.objectContaining({ code: 'bus-released' })]]);
});
