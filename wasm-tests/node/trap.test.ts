import { InMemoryBus, type ListenError, type ServerEvent } from 'mcp-listen';
import { expect, test } from 'vitest';
import { Tally } from '../../dist/wasm.js';
import { acknowledged, listChanged, type WireStream } from '../host/listen.ts';
import { poison } from '../host/poison.ts';
import { BreakableBus } from './breakable-bus.ts';
import { CAPABILITIES, listenRequest, open, serving, TOOLS } from './serving.ts';

const CHANGED: ServerEvent = { kind: 'tools_list_changed' };

async function acknowledgedStream(server: ReturnType<typeof serving>): Promise<WireStream> {
  const stream = await open(server, TOOLS);
  expect(await stream.message()).toBe(acknowledged('1', TOOLS));
  return stream;
}

/** A trap in the middle of a publish. */
async function trap(publish: (event: ServerEvent) => Promise<void>): Promise<void> {
  poison();
  await expect(publish(CHANGED)).rejects.toMatchObject({
    code: 'core-trapped',
    cause: expect.any(WebAssembly.RuntimeError),
  });
}

test.each([
  ['fanned', (onerror: (error: Error) => void) => new InMemoryBus(onerror)],
  ['attached', () => new BreakableBus()],
])('%s streams end without a result after a trap, and the next ones hear', async (_, busOf) => {
  const errors: Error[] = [];
  const onerror = (error: Error): number => errors.push(error);
  const bus = busOf(onerror);
  const server = serving({ bus, onerror });
  const streams = [await acknowledgedStream(server), await acknowledgedStream(server)];
  await trap((event) => bus.publish(event));
  for (const stream of streams) expect(await stream.message()).toBeUndefined();
  expect(server.stats()).toMatchObject({ open: 0, opened: 2, ended: { aborted: 2 } });
  expect(new Set(errors.map((error) => (error as ListenError).code))).toEqual(new Set(['core-trapped']));
  const next = await acknowledgedStream(server);
  await bus.publish(CHANGED);
  expect(await next.message()).toBe(listChanged('1', 'tools'));
  await server.close();
  expect(server.stats()).toMatchObject({ open: 0, events: 1, ended: { aborted: 2, closed: 1 } });
});

test('each server is told of a trap once, however many streams it has', async () => {
  const errors: Error[] = [];
  const bus = new BreakableBus();
  const server = serving({ bus, onerror: (error) => errors.push(error) });
  await Promise.all([acknowledgedStream(server), acknowledgedStream(server), acknowledgedStream(server)]);
  await trap((event) => bus.publish(event));
  expect(errors.map((error) => (error as ListenError).code)).toEqual(['core-trapped']);
});

test('a request in which the core traps fails, and the next one is served', async () => {
  const server = serving({ capabilities: CAPABILITIES });
  poison();
  await expect(server.fetch(listenRequest(TOOLS))).rejects.toMatchObject({ code: 'core-trapped' });
  await acknowledgedStream(server);
  await server.close();
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
  expect(() => former.counts).toThrow('stale');
  const places = Array.from({ length: 3 }, () => new Tally());
  former.free();
  const held = new Set([...places, new Tally(), new Tally()].map((tally) => Reflect.get(tally, '__wbg_ptr')));
  expect(held.size).toBe(5);
});
