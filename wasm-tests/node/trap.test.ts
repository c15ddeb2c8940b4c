import {
  InMemoryBus,
  type ListenError,
  type ListenHandlerOptions,
  type ServerEvent,
} from 'mcp-listen';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { answersQuestion, Tally } from '../../dist/wasm/server/bindings.js';
import { generation } from '../../dist/wasm/server/guard.js';
import { acknowledged, listChanged, WireStream } from '../host/listen.ts';
import { poison } from '../host/poison.ts';
import { BreakableBus } from './breakable-bus.ts';
import { listenRequest, open, RESULT, refusal, serving, TOOLS } from './serving.ts';

const CHANGED: ServerEvent = { kind: 'tools_list_changed' };
const BOTH = { toolsListChanged: true, resourceSubscriptions: ['note://1'] };
const TOLD = listChanged('1', 'tools');

/** What the engine says where there is no memory for one more instance. */
class NoMemory {
  constructor() {
    throw new RangeError('out of memory');
  }
}

afterEach(() => {
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

describe.each(BUSES)('%s streams', (_, busOf) => {
  test('end without a result after a trap, and those that open then hear on', async () => {
    const { bus, errors, server: under } = server(busOf());
    const former = [await acknowledgedStream(under, BOTH), await acknowledgedStream(under, BOTH)];
    await trap((event) => bus.publish(event));
    expect(under.stats()).toMatchObject({ open: 2 });
    const next = await acknowledgedStream(under);
    for (const stream of former) expect(await stream.message()).toBeUndefined();
    await bus.publish(CHANGED);
    expect(await next.message()).toBe(TOLD);
    expect(codesOf(errors)).toEqual(['core-trapped']);
    expect(under.stats()).toMatchObject({ open: 1, opened: 3, ended: { trapped: 2 } });
    await Promise.all([
      under.close(),
      next.message().then((message) => expect(message).toBe(RESULT)),
    ]);
    expect(under.stats()).toMatchObject({ open: 0, ended: { closed: 1 } });
  });

  test('end one after the other: their clients do not come back all at once', async () => {
    const { bus, server: under } = server(busOf());
    const streams = await Promise.all(Array.from({ length: 40 }, () => acknowledgedStream(under)));
    await trap((event) => bus.publish(event));
    const ends = await Promise.all(
      streams.map(async (stream) => {
        expect(await stream.message()).toBeUndefined();
        return performance.now();
      }),
    );
    expect(Math.max(...ends) - Math.min(...ends)).toBeGreaterThan(1_000);
    expect(under.stats()).toMatchObject({ open: 0, ended: { trapped: 40 } });
  });

  test('that are not read yet end too', async () => {
    const { bus, server: under } = server(busOf());
    const response = await under.fetch(listenRequest(TOOLS));
    await trap((event) => bus.publish(event));
    const stream = new WireStream(response, new AbortController());
    // What was in its body by then is read.
    expect([acknowledged('1', TOOLS), undefined]).toContain(await stream.message());
    expect(await stream.message()).toBeUndefined();
    expect(under.stats()).toMatchObject({ open: 0 });
  });

  test('that their clients leave before they have ended are gone at once, and no other stream is touched', async () => {
    const { bus, server: under } = server(busOf());
    const former = await acknowledgedStream(under);
    await trap((event) => bus.publish(event));
    const next = await acknowledgedStream(under);
    former.drop();
    await expect.poll(() => under.stats().ended.left, { interval: 10 }).toBe(1);
    await bus.publish(CHANGED);
    expect(await next.message()).toBe(TOLD);
    await under.close();
  });
});

describe.each(BUSES)(
  '%s streams that end while the core traps, or traps in another way',
  (_, busOf) => {
    test('that are closed while it traps end, with nothing after their last words', async () => {
      const { bus, server: under } = server(busOf());
      const stream = await acknowledgedStream(under);
      poison();
      await under.close();
      expect([RESULT, undefined]).toContain(await stream.message());
      expect(await stream.message()).toBeUndefined();
      expect(bus).toBeDefined();
      expect(under.stats().open).toBe(0);
    });

    test('that are closed after it has trapped end at once', async () => {
      const { bus, server: under } = server(busOf());
      const stream = await acknowledgedStream(under);
      await trap((event) => bus.publish(event));
      await under.close();
      expect(under.stats()).toMatchObject({ open: 0, ended: { trapped: 1 } });
      expect(await stream.message()).toBeUndefined();
    });

    test('end where it traps in a timer of theirs, and those that open then give signs of life', async () => {
      const { errors, server: under } = server(busOf(), { keepAliveMs: 200 });
      const stream = await acknowledgedStream(under);
      poison();
      expect(await stream.message()).toBeUndefined();
      expect(codesOf(errors)).toEqual(['core-trapped']);
      const next = await acknowledgedStream(under);
      expect(await next.block()).toMatch(/^:/);
      await under.close();
    });

    test('end where the core cannot begin anew; what comes next tries again', async () => {
      const { bus, errors, server: under } = server(busOf());
      const stream = await acknowledgedStream(under);
      const instance = vi.spyOn(WebAssembly, 'Instance').mockImplementation(NoMemory as never);
      await trap((event) => bus.publish(event));
      expect(await stream.message()).toBeUndefined();
      expect(errors[0]).toMatchObject({
        code: 'core-trapped',
        message: 'the core has trapped and could not be reset',
      });
      await expect(under.fetch(listenRequest(TOOLS))).rejects.toMatchObject({
        code: 'core-trapped',
      });
      instance.mockRestore();
      const next = await acknowledgedStream(under);
      await bus.publish(CHANGED);
      expect(await next.message()).toBe(TOLD);
      await under.close();
    });
  },
);

test('each server is told of a trap once, however many streams it has', async () => {
  const { bus, errors, server: under } = server(new BreakableBus());
  await Promise.all([
    acknowledgedStream(under),
    acknowledgedStream(under),
    acknowledgedStream(under),
  ]);
  await trap((event) => bus.publish(event));
  expect(codesOf(errors)).toEqual(['core-trapped']);
});

test('a request in which the core traps is told to come again, and the next one is served', async () => {
  const { errors, server: under } = server(new InMemoryBus({ onError: () => {} }));
  poison();
  const answer = await under.fetch(listenRequest(TOOLS));
  expect(await refusal(answer)).toMatchObject({
    status: 503,
    retryAfter: expect.stringMatching(/^\d+$/),
  });
  expect(codesOf(errors)).toEqual(['core-trapped']);
  await acknowledgedStream(under);
  await under.close();
});

test('a request that waits while the core begins anew is told to come again', async () => {
  const waiting = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const authorize = async () => {
    asked.resolve();
    await waiting.promise;
    return TOOLS;
  };
  const { bus, server: under } = server(new InMemoryBus({ onError: () => {} }), { authorize });
  const answer = under.fetch(listenRequest(TOOLS));
  await asked.promise;
  await trap((event) => bus.publish(event));
  waiting.resolve();
  expect((await answer).status).toBe(503);
});

test('listeners on a bus hear of every list after a trap, and hear on; those that leave then do not', async () => {
  const bus = new InMemoryBus({ onError: () => {} });
  const heard: string[] = [];
  const leave = bus.subscribe(() => heard.push('left'));
  bus.subscribe(({ kind }) => heard.push(kind));
  await trap((event) => bus.publish(event));
  leave();
  await bus.publish(CHANGED);
  const lists = ['tools_list_changed', 'prompts_list_changed', 'resources_list_changed'];
  expect(heard.filter((kind) => kind !== 'left')).toEqual([...lists, 'tools_list_changed']);
  expect(heard.at(-1)).not.toBe('left');
  expect(bus.attached).toBe(1);
});

test('what the core made before a trap is of no use after it, and freeing it frees nothing else', async () => {
  const bus = new InMemoryBus({ onError: () => {} });
  const former = new Tally();
  await trap((event) => bus.publish(event));
  expect(() => former.counts).toThrow(expect.objectContaining({ code: 'core-trapped' }));
  const places = Array.from({ length: 3 }, () => new Tally());
  former.free();
  const held = new Set(
    [...places, new Tally(), new Tally()].map((tally) => Reflect.get(tally, '__wbg_ptr')),
  );
  expect(held.size).toBe(5);
});

test('what was handed to a call that trapped is not freed in the core that begins', () => {
  const poisonous = {
    get length() {
      poison();
      return 1;
    },
  };
  const before = generation();
  // The first text lies in the core's memory, where a new one has none yet, when the second asks
  // for room there.
  const call = () => answersQuestion('x'.repeat(32 << 20), poisonous as unknown as Uint8Array);
  expect(call).toThrow(expect.objectContaining({ code: 'core-trapped' }));
  expect(generation()).toBe(before + 1);
});

test('a trap in a constructor is noticed, and one while something is freed hurts nobody', () => {
  poison();
  expect(() => new Tally()).toThrow(expect.objectContaining({ code: 'core-trapped' }));
  const tally = new Tally();
  poison();
  tally.free();
  expect(new Tally()).toBeInstanceOf(Tally);
});
