import {
  InMemoryBus,
  type ListenError,
  type ListenHandlerOptions,
  type ServerEvent,
} from 'mcp-listen';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { host } from '../../../dist/model/host-profile.js';
import { BusFollower, isDiscoverResponse } from '../../../dist/wasm/server/bindings.js';
import { serverGuard } from '../../../dist/wasm/server/guard.js';
import { EventReader } from '../../host/events.ts';
import { acknowledged, listChanged, WireStream } from '../../host/listen.ts';
import { poison, poisonEvents } from '../../host/poison.ts';
import { BreakableBus } from '../bus/breakable-bus.ts';
import { requestOf } from '../events/requests.ts';
import { listenRequest, open, RESULT, refusal, serving, TOOLS } from '../serving.ts';
import { endOf, expectSpread, useVirtualClock } from './ends.ts';

const CHANGED: ServerEvent = { kind: 'tools_list_changed' };
const BOTH = { toolsListChanged: true, resourceSubscriptions: ['note://1'] };
const CUE = listChanged('1', 'tools');

/** The error of an engine without memory for another instance. */
class NoMemory {
  constructor() {
    throw new RangeError('out of memory');
  }
}

const { fansOut } = host;

afterEach(() => {
  host.fansOut = fansOut;
  vi.restoreAllMocks();
  vi.useRealTimers();
});

async function acknowledgedStream(
  server: ReturnType<typeof serving>,
  filter: object = TOOLS,
): Promise<WireStream> {
  const stream = await open(server, filter);
  expect(await stream.message()).toBe(acknowledged('1', filter));
  return stream;
}

/** A trap in the middle of a publish. */
async function trap(publish: (event: ServerEvent) => Promise<void>): Promise<void> {
  poison();
  await expect(publish(CHANGED)).rejects.toMatchObject({ code: 'core-trapped' });
}

function codesOf(errors: Error[]): string[] {
  return errors.map((error) => (error as ListenError).code);
}

function server(bus: InMemoryBus | BreakableBus, options: ListenHandlerOptions = {}) {
  const errors: Error[] = [];
  return {
    bus,
    errors,
    server: serving({ bus, onError: (error) => errors.push(error), ...options }),
  };
}

const BUSES = [
  ['fanned', () => new InMemoryBus({ onError: () => {} })],
  ['attached', () => new BreakableBus()],
] as const;

describe.each(BUSES)('%s streams', (_, newBus) => {
  test('end without a result after a trap, and later ones receive events', async () => {
    const { bus, errors, server: listening } = server(newBus());
    const former = [
      await acknowledgedStream(listening, BOTH),
      await acknowledgedStream(listening, BOTH),
    ];
    await trap((event) => bus.publish(event));
    expect(listening.stats()).toMatchObject({ open: 2 });
    const next = await acknowledgedStream(listening);
    for (const stream of former) expect(await stream.message()).toBeUndefined();
    await bus.publish(CHANGED);
    expect(await next.message()).toBe(CUE);
    expect(codesOf(errors)).toEqual(['core-trapped']);
    expect(listening.stats()).toMatchObject({ open: 1, opened: 3, ended: { trapped: 2 } });
    await Promise.all([
      listening.close(),
      next.message().then((message) => expect(message).toBe(RESULT)),
    ]);
    expect(listening.stats()).toMatchObject({ open: 0, ended: { closed: 1 } });
  });

  test('end one after the other, so that their clients do not return all at once', async () => {
    useVirtualClock();
    const { bus, server: listening } = server(newBus());
    const streams = await Promise.all(
      Array.from({ length: 40 }, () => acknowledgedStream(listening)),
    );
    await trap((event) => bus.publish(event));
    await expectSpread(
      streams.map(async (stream) => {
        expect(await stream.message()).toBeUndefined();
        return performance.now();
      }),
    );
    expect(listening.stats()).toMatchObject({ open: 0, ended: { trapped: 40 } });
  });

  test('that are not read yet end too', async () => {
    const { bus, server: listening } = server(newBus());
    const response = await listening.fetch(listenRequest(TOOLS));
    await trap((event) => bus.publish(event));
    const stream = new WireStream(response, new AbortController());
    // What was in the body before the trap is read.
    expect([acknowledged('1', TOOLS), undefined]).toContain(await stream.message());
    expect(await stream.message()).toBeUndefined();
    expect(listening.stats()).toMatchObject({ open: 0 });
  });

  test('whose clients leave first end at once, and affect no other stream', async () => {
    const { bus, server: listening } = server(newBus());
    const former = await acknowledgedStream(listening);
    await trap((event) => bus.publish(event));
    const next = await acknowledgedStream(listening);
    former.drop();
    await expect.poll(() => listening.stats().ended.left, { interval: 10 }).toBe(1);
    await bus.publish(CHANGED);
    expect(await next.message()).toBe(CUE);
    await listening.close();
  });
});

describe.each(BUSES)('%s streams, beside other calls of the core,', (_, newBus) => {
  test('that close while it traps end, with nothing after their result', async () => {
    const { bus, server: listening } = server(newBus());
    const stream = await acknowledgedStream(listening);
    poison();
    await listening.close();
    expect([RESULT, undefined]).toContain(await stream.message());
    expect(await stream.message()).toBeUndefined();
    expect(bus).toBeDefined();
    expect(listening.stats().open).toBe(0);
  });

  test('that close after it has trapped end at once', async () => {
    const { bus, server: listening } = server(newBus());
    const stream = await acknowledgedStream(listening);
    await trap((event) => bus.publish(event));
    await listening.close();
    expect(listening.stats()).toMatchObject({ open: 0, ended: { trapped: 1 } });
    expect(await stream.message()).toBeUndefined();
  });

  test('end when it traps in a timer, and later ones send keep-alives', async () => {
    const { errors, server: listening } = server(newBus(), { keepAliveMs: 200 });
    const stream = await acknowledgedStream(listening);
    poison();
    expect(await stream.message()).toBeUndefined();
    expect(codesOf(errors)).toEqual(['core-trapped']);
    const next = await acknowledgedStream(listening);
    expect(await next.block()).toMatch(/^:/);
    await listening.close();
  });

  test('end when the core cannot restart, and the next call tries again', async () => {
    const { bus, errors, server: listening } = server(newBus());
    const stream = await acknowledgedStream(listening);
    const instance = vi.spyOn(WebAssembly, 'Instance').mockImplementation(NoMemory as never);
    await trap((event) => bus.publish(event));
    expect(await stream.message()).toBeUndefined();
    expect(errors[0]).toMatchObject({
      code: 'core-trapped',
      message: 'the core has trapped and could not be reset',
    });
    await expect(listening.fetch(listenRequest(TOOLS))).rejects.toMatchObject({
      code: 'core-trapped',
    });
    instance.mockRestore();
    const next = await acknowledgedStream(listening);
    await bus.publish(CHANGED);
    expect(await next.message()).toBe(CUE);
    await listening.close();
  });
});

test.each([1, 20])(
  '2,000 streams of %i servers end over four seconds: at most 500 in a second',
  async (servers) => {
    useVirtualClock();
    const limits = { maxSubscriptions: 2_000 };
    const all = Array.from({ length: servers }, () =>
      server(new InMemoryBus({ onError: () => {} }), { limits }),
    );
    const requests = all.flatMap(({ server: listening }) =>
      Array.from({ length: 2_000 / servers }, () => listening.fetch(listenRequest(TOOLS))),
    );
    await Promise.all(requests);
    const trapped = () =>
      all.reduce((sum, { server: listening }) => sum + listening.stats().ended.trapped, 0);
    await trap((event) => (all[0] as (typeof all)[0]).bus.publish(event));
    for (const seconds of [1, 2, 3]) {
      await vi.advanceTimersByTimeAsync(1_000);
      expect(Math.abs(trapped() - seconds * 500)).toBeLessThan(200);
    }
    await vi.advanceTimersByTimeAsync(1_100);
    expect(trapped()).toBe(2_000);
  },
);

test('a trap is reported once per server, however many streams it has', async () => {
  const { bus, errors, server: listening } = server(new BreakableBus());
  await Promise.all([
    acknowledgedStream(listening),
    acknowledgedStream(listening),
    acknowledgedStream(listening),
  ]);
  await trap((event) => bus.publish(event));
  expect(codesOf(errors)).toEqual(['core-trapped']);
});

test('a request in which the core traps gets 503, and the next one is served', async () => {
  const { errors, server: listening } = server(new InMemoryBus({ onError: () => {} }));
  poison();
  const response = await listening.fetch(listenRequest(TOOLS));
  expect(await refusal(response)).toMatchObject({
    status: 503,
    retryAfter: expect.stringMatching(/^\d+$/),
  });
  expect(codesOf(errors)).toEqual(['core-trapped']);
  await acknowledgedStream(listening);
  await listening.close();
});

test('a request that waits while the core restarts gets 503', async () => {
  const waiting = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const authorize = async () => {
    asked.resolve();
    await waiting.promise;
    return TOOLS;
  };
  const { bus, server: listening } = server(new InMemoryBus({ onError: () => {} }), { authorize });
  const response = listening.fetch(listenRequest(TOOLS));
  await asked.promise;
  await trap((event) => bus.publish(event));
  waiting.resolve();
  expect((await response).status).toBe(503);
});

test('listeners of a bus receive every list after a trap, and later events', async () => {
  const bus = new InMemoryBus({ onError: () => {} });
  const received: string[] = [];
  const leave = bus.subscribe(() => received.push('left'));
  bus.subscribe(({ kind }) => received.push(kind));
  await trap((event) => bus.publish(event));
  leave();
  await bus.publish(CHANGED);
  const lists = [
    'tools_list_changed',
    'prompts_list_changed',
    'resources_list_changed',
    'events_list_changed',
  ];
  expect(received.filter((kind) => kind !== 'left')).toEqual([...lists, 'tools_list_changed']);
  expect(received.at(-1)).not.toBe('left');
  expect(bus.attached).toBe(1);
});

test('objects from before a trap throw after it, and freeing them frees nothing else', async () => {
  const bus = new InMemoryBus({ onError: () => {} });
  const former = new BusFollower(1);
  await trap((event) => bus.publish(event));
  expect(() => former.call(0, 0)).toThrow(expect.objectContaining({ code: 'core-trapped' }));
  const places = Array.from({ length: 3 }, () => new BusFollower(1));
  former.free();
  const held = new Set(
    [...places, new BusFollower(1), new BusFollower(1)].map((follower) =>
      Reflect.get(follower, '__wbg_ptr'),
    ),
  );
  expect(held.size).toBe(5);
});

test('the arguments of a call that trapped are not freed in the new core', () => {
  const poisonous = {
    get length() {
      poison();
      return 1;
    },
  };
  const before = serverGuard.generation;
  // The first text lies in the core's memory, where a new one has none yet, when the second asks
  // for room there.
  const call = () => isDiscoverResponse('x'.repeat(32 << 20), poisonous as unknown as Uint8Array);
  expect(call).toThrow(expect.objectContaining({ code: 'core-trapped' }));
  expect(serverGuard.generation).toBe(before + 1);
});

test('a trap in a constructor throws, and one in free is harmless', () => {
  poison();
  expect(() => new BusFollower(1)).toThrow(expect.objectContaining({ code: 'core-trapped' }));
  const follower = new BusFollower(1);
  poison();
  follower.free();
  expect(new BusFollower(1)).toBeInstanceOf(BusFollower);
});

/** A server with the event type `paid`, whose streams have one request context each, or none. */
function eventServer(options: ListenHandlerOptions = {}, hasOwnContexts = false) {
  host.fansOut = !hasOwnContexts;
  const errors: Error[] = [];
  const bus = new InMemoryBus({ events: eventLog(), onError: () => {} });
  const listening = serving({
    bus,
    events: defineEvents({ paid: {} }),
    onError: (error) => errors.push(error),
    ...options,
  });
  const stream = async (): Promise<EventReader> => {
    const reader = new EventReader(
      await listening.fetch(requestOf('events/stream', { name: 'paid' }, 1)),
    );
    expect(await reader.next()).toMatchObject({ method: 'notifications/events/active' });
    return reader;
  };
  const publish = () => listening.notify.event('paid', { amount: 1 });
  return { bus, errors, publish, server: listening, stream };
}

describe.each([
  ['in the context of any request', false],
  ['in their own request contexts', true],
])('a trap of the core of events, with streams %s,', (_, hasOwnContexts) => {
  test('ends these as trapped, one after the other, and no others', async () => {
    useVirtualClock();
    const { errors, publish, server: listening, stream } = eventServer({}, hasOwnContexts);
    const listen = await acknowledgedStream(listening);
    const streams = await Promise.all(Array.from({ length: 40 }, stream));
    poisonEvents();
    await expect(publish()).rejects.toMatchObject({ code: 'core-trapped' });
    expect(listening.stats()).toMatchObject({ open: 41 });
    const next = await stream();
    await publish();
    expect(await next.next()).toMatchObject({ params: { data: { amount: 1 } } });
    await expectSpread(streams.map(endOf));
    expect(listening.stats()).toMatchObject({ open: 2, ended: { aborted: 0, trapped: 40 } });
    await listening.notify.toolsChanged();
    expect(await listen.message()).toBe(CUE);
    expect(codesOf(errors)).toEqual(['core-trapped']);
    await listening.close();
  });

  test('in a heartbeat ends these too, and other streams go on', async () => {
    const { errors, server: listening, stream } = eventServer({ keepAliveMs: 200 }, hasOwnContexts);
    const [reader, listen] = [await stream(), await acknowledgedStream(listening)];
    poisonEvents();
    await endOf(reader);
    expect(listening.stats()).toMatchObject({ open: 1, ended: { trapped: 1 } });
    expect(codesOf(errors)).toEqual(['core-trapped']);
    expect(await listen.block()).toMatch(/^:/);
    await listening.close();
  });

  test('while a reading fails ends these too', async () => {
    const { bus, errors, publish, stream } = eventServer({}, hasOwnContexts);
    const reader = await stream();
    vi.spyOn(bus.events as NonNullable<typeof bus.events>, 'page').mockImplementation(async () => {
      poisonEvents();
      throw new Error('no page');
    });
    await publish();
    await endOf(reader);
    expect(errors.map(({ message }) => message)).toEqual([
      'no page',
      'the core has trapped and was reset',
    ]);
  });

  test('in the end of one stream ends it at once', async () => {
    const { server: listening, stream } = eventServer({ principal: () => 'ada' }, hasOwnContexts);
    const reader = await stream();
    poisonEvents();
    await listening.disconnect('ada');
    await endOf(reader);
    expect(listening.stats()).toMatchObject({ open: 0, ended: { denied: 1 } });
  });
});

test('a request in which the core of events traps gets 503, and the next one is served', async () => {
  const { errors, server: listening } = eventServer();
  poisonEvents();
  const list = () => listening.fetch(requestOf('events/list', {}, 1));
  expect(await refusal(await list())).toMatchObject({
    status: 503,
    retryAfter: expect.stringMatching(/^\d+$/),
  });
  expect(codesOf(errors)).toEqual(['core-trapped']);
  expect((await list()).status).toBe(200);
});
