import { InMemoryBus, type ListenError, type ListenOptions, type ServerEvent } from 'mcp-listen';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { Tally } from '../../dist/wasm.js';
import { acknowledged, listChanged, updated, WITH_TASKS, WireStream } from '../host/listen.ts';
import { poison } from '../host/poison.ts';
import { BreakableBus } from './breakable-bus.ts';
import { CAPABILITIES, listenRequest, open, RESULT, refusal, serving, TOOLS } from './serving.ts';

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

async function acknowledgedStream(server: ReturnType<typeof serving>, filter: object = TOOLS): Promise<WireStream> {
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

function server(bus: InMemoryBus | BreakableBus, options: ListenOptions = {}) {
  const errors: Error[] = [];
  return { bus, errors, server: serving({ bus, onerror: (error) => errors.push(error), ...options }) };
}

const BUSES = [
  ['fanned', () => new InMemoryBus(() => {})],
  ['attached', () => new BreakableBus()],
] as const;

describe.each(BUSES)('%s streams', (_, busOf) => {
  test('stay open after a trap, hear of all that they honor, and hear on', async () => {
    const { bus, errors, server: under } = server(busOf());
    const streams = [await acknowledgedStream(under, BOTH), await acknowledgedStream(under, BOTH)];
    await trap((event) => bus.publish(event));
    for (const stream of streams) {
      expect(await stream.message()).toBe(TOLD);
      expect(await stream.message()).toBe(updated('1', 'note://1'));
    }
    await bus.publish({ kind: 'resource_updated', uri: 'note://1' });
    for (const stream of streams) expect(await stream.message()).toBe(updated('1', 'note://1'));
    expect(codesOf(errors)).toEqual(['core-trapped']);
    expect(under.stats()).toMatchObject({ open: 2, opened: 2 });
    await Promise.all([under.close(), ...streams.map(async (stream) => expect(await stream.message()).toBe(RESULT))]);
    expect(under.stats()).toMatchObject({ open: 0, ended: { closed: 2 } });
  });

  test('keep their bodies apart where others before them are gone', async () => {
    const { bus, server: under } = server(busOf());
    const [first, second, third] = [
      await acknowledgedStream(under),
      await acknowledgedStream(under, { promptsListChanged: true }),
      await acknowledgedStream(under, { resourcesListChanged: true }),
    ];
    first.drop();
    await expect.poll(() => under.stats().open).toBe(2);
    await trap((event) => bus.publish(event));
    expect(await second.message()).toBe(listChanged('1', 'prompts'));
    expect(await third.message()).toBe(listChanged('1', 'resources'));
    await under.close();
  });

  test('that are not read yet are acknowledged first', async () => {
    const { bus, server: under } = server(busOf());
    const response = await under.fetch(listenRequest(TOOLS));
    await trap((event) => bus.publish(event));
    const stream = new WireStream(response, new AbortController());
    expect(await stream.message()).toBe(acknowledged('1', TOOLS));
    expect(await stream.message()).toBe(TOLD);
    await under.close();
  });
});

describe.each(BUSES)('%s streams of which something is not known any more', (_, busOf) => {
  test('that follow tasks end without a result, for a state cannot be made up', async () => {
    const { bus, server: under } = server(busOf(), { capabilities: { ...CAPABILITIES, ...WITH_TASKS } });
    const filter = { toolsListChanged: true, taskIds: ['t'] };
    const stream = await open(under, filter, { capabilities: WITH_TASKS });
    expect(await stream.message()).toBe(acknowledged('1', filter));
    await trap((event) => bus.publish(event));
    expect(await stream.message()).toBeUndefined();
    expect(under.stats()).toMatchObject({ open: 0, ended: { lost: 1 } });
  });

  test('of callers with a name ask who they are, for a revocation may have been lost, and stay', async () => {
    const principal = vi.fn(() => 'ada');
    const { bus, server: under } = server(busOf(), { principal });
    const stream = await acknowledgedStream(under);
    const asked = principal.mock.calls.length;
    await trap((event) => bus.publish(event));
    expect(await stream.message()).toBe(TOLD);
    expect(principal.mock.calls.length).toBeGreaterThan(asked);
    expect(under.stats()).toMatchObject({ open: 1 });
    await under.close();
  });

  test('of callers with a name end where nobody is asked again', async () => {
    const { bus, server: under } = server(busOf(), { principal: () => 'ada', authorizationTtlMs: 0 });
    const stream = await acknowledgedStream(under);
    await trap((event) => bus.publish(event));
    expect(await stream.message()).toBeUndefined();
    expect(under.stats()).toMatchObject({ open: 0, ended: { denied: 1 } });
  });

  test('ask again what their caller may hear, however lately that was asked', async () => {
    let mayHear = true;
    const authorize = () => (mayHear ? TOOLS : { denied: 403 as const });
    const { bus, server: under } = server(busOf(), { authorize, authorizationTtlMs: 3_600_000 });
    const stream = await acknowledgedStream(under);
    mayHear = false;
    await trap((event) => bus.publish(event));
    expect(await stream.message()).toBeUndefined();
    expect(under.stats()).toMatchObject({ ended: { denied: 1 } });
  });
});

describe.each(BUSES)('%s streams that are about to end', (_, busOf) => {
  test('go on once, and end where it traps again soon', async () => {
    const { bus, server: under } = server(busOf());
    const stream = await acknowledgedStream(under);
    await trap((event) => bus.publish(event));
    expect(await stream.message()).toBe(TOLD);
    await trap((event) => bus.publish(event));
    expect(await stream.message()).toBeUndefined();
    expect(under.stats()).toMatchObject({ open: 0, ended: { trapped: 1 } });
    const next = await acknowledgedStream(under);
    await bus.publish(CHANGED);
    expect(await next.message()).toBe(TOLD);
    await under.close();
  });

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

  test('still end at their age', async () => {
    const { bus, server: under } = server(busOf(), { maxConnectionAgeMs: 600 });
    const stream = await acknowledgedStream(under);
    await trap((event) => bus.publish(event));
    expect(await stream.message()).toBe(TOLD);
    expect(await stream.message()).toBeUndefined();
    expect(under.stats()).toMatchObject({ ended: { rotated: 1 } });
  });
});

describe.each(BUSES)('%s streams and a core that gives up again', (_, busOf) => {
  test('outlive a trap in their own timers, and give signs of life again', async () => {
    const { errors, server: under } = server(busOf(), { keepAliveMs: 200 });
    const stream = await acknowledgedStream(under);
    poison();
    expect(await stream.message()).toBe(TOLD);
    expect(await stream.block()).toMatch(/^:/);
    expect(codesOf(errors)).toEqual(['core-trapped']);
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
      message: 'the core has trapped, and could not begin anew',
    });
    await expect(under.fetch(listenRequest(TOOLS))).rejects.toMatchObject({ code: 'core-trapped' });
    instance.mockRestore();
    const next = await acknowledgedStream(under);
    await bus.publish(CHANGED);
    expect(await next.message()).toBe(TOLD);
    await under.close();
  });
});

test('each server is told of a trap once, however many streams it has', async () => {
  const { bus, errors, server: under } = server(new BreakableBus());
  await Promise.all([acknowledgedStream(under), acknowledgedStream(under), acknowledgedStream(under)]);
  await trap((event) => bus.publish(event));
  expect(codesOf(errors)).toEqual(['core-trapped']);
});

test('a request in which the core traps is told to come again, and the next one is served', async () => {
  const { errors, server: under } = server(new InMemoryBus(() => {}));
  poison();
  const answer = await under.fetch(listenRequest(TOOLS));
  expect(await refusal(answer)).toMatchObject({ status: 503, retryAfter: expect.stringMatching(/^\d+$/) });
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
  const { bus, server: under } = server(new InMemoryBus(() => {}), { authorize });
  const answer = under.fetch(listenRequest(TOOLS));
  await asked.promise;
  await trap((event) => bus.publish(event));
  waiting.resolve();
  expect((await answer).status).toBe(503);
});

test('listeners on a bus hear of every list after a trap, and hear on; those that leave then do not', async () => {
  const bus = new InMemoryBus(() => {});
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
  const bus = new InMemoryBus(() => {});
  const former = new Tally();
  await trap((event) => bus.publish(event));
  expect(() => former.counts).toThrow(expect.objectContaining({ code: 'core-trapped' }));
  const places = Array.from({ length: 3 }, () => new Tally());
  former.free();
  const held = new Set([...places, new Tally(), new Tally()].map((tally) => Reflect.get(tally, '__wbg_ptr')));
  expect(held.size).toBe(5);
});

test('a trap in a constructor is noticed, and one while something is freed hurts nobody', () => {
  poison();
  expect(() => new Tally()).toThrow(expect.objectContaining({ code: 'core-trapped' }));
  const tally = new Tally();
  poison();
  tally.free();
  expect(new Tally()).toBeInstanceOf(Tally);
});
