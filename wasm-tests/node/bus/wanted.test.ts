import { InMemoryBus, ListenError, type Topic, type WantedOptions } from 'mcp-listen';
import { expect, onTestFinished, test, vi } from 'vitest';
import { HookedTopics } from '../../../dist/bus/wanted/hooked-topics.js';
import { wantedOptions } from '../../../dist/bus/wanted/options.js';
import { EdgeInterest } from '../../../dist/cloudflare/edge/edge-interest.js';
import { change, LegacySession, nextMessage } from '../../host/legacy.ts';
import { acknowledged, updated } from '../../host/listen.ts';
import { pause } from '../../host/pause.ts';
import { until } from '../../host/virtual-clock.ts';
import { listenRequest, open, serving } from '../serving.ts';
import { sessionServer } from '../sessions/serving.ts';

const A = { resourceSubscriptions: ['note://a'] };
const TOPIC: Topic = { kind: 'resource_updated', uri: 'note://a' };

/** Hooks that record their calls as text. */
function recorded(options: WantedOptions = {}) {
  const calls: string[] = [];
  const nameOf = (topic: Topic) => ('uri' in topic ? topic.uri : topic.kind);
  const wanted: WantedOptions = {
    unwantedMs: 0,
    onWanted: (topic, { isAgain }) => {
      calls.push(`${isAgain ? 'again ' : ''}+${nameOf(topic)}`);
    },
    onUnwanted: (topic) => void calls.push(`-${nameOf(topic)}`),
    ...options,
  };
  return { calls, wanted };
}

test('the first stream with a topic starts it before its acknowledgment, and the last one stops it', async () => {
  const { calls, wanted } = recorded();
  const bus = new InMemoryBus({ wanted });
  const server = serving({ bus });
  const one = await open(server, A);
  expect(calls).toEqual(['+note://a']);
  const two = await open(server, { ...A, toolsListChanged: true });
  expect(await bus.isWanted(TOPIC)).toBe(true);
  one.drop();
  await expect.poll(() => server.stats().open).toBe(1);
  await pause(400);
  expect(calls).toEqual(['+note://a', '+tools_list_changed']);
  two.drop();
  await expect.poll(() => calls.slice(2).sort()).toEqual(['-note://a', '-tools_list_changed']);
  expect(await bus.isWanted(TOPIC)).toBe(false);
});

test.each([
  ['returns false', () => false, []],
  ['throws', () => JSON.parse('not JSON'), ['wanted-failed']],
  ['takes too long', () => new Promise(() => {}), ['wanted-failed']],
])('a topic whose hook %s is not honored', async (_how, refuse, codes) => {
  const errors: Error[] = [];
  const onWanted: WantedOptions['onWanted'] = ({ kind }) =>
    kind === 'resource_updated' ? refuse() : true;
  const bus = new InMemoryBus({
    wanted: { onWanted, wantedMs: 100 },
    onError: (error) => errors.push(error),
  });
  const stream = await open(serving({ bus }), { ...A, toolsListChanged: true });
  expect(await stream.message()).toBe(acknowledged('1', { toolsListChanged: true }));
  expect(await bus.isWanted(TOPIC)).toBe(false);
  expect(errors.map((error) => (error as ListenError).code)).toEqual(codes);
});

test('a stream waits for a slow hook if wantedMs is 0', async () => {
  const onWanted = () => pause(100);
  const bus = new InMemoryBus({ wanted: { onWanted, wantedMs: 0 } });
  const stream = await open(serving({ bus }), A);
  expect(await stream.message()).toBe(acknowledged('1', A));
});

/** Workers do not run what follows an await if the client has disconnected meanwhile. */
test('a topic is wanted for a minute by a stream that never opens', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const onWanted = vi.fn(() => new Promise(() => {}));
  const bus = new InMemoryBus({ wanted: { onWanted, wantedMs: 0 } });
  void serving({ bus }).fetch(listenRequest(A));
  await until(() => onWanted.mock.calls.length === 1);
  vi.setSystemTime(Date.now() + 59_999);
  expect(await bus.isWanted(TOPIC)).toBe(true);
  vi.setSystemTime(Date.now() + 1);
  expect(await bus.isWanted(TOPIC)).toBe(false);
});

test('a topic is wanted by a stream that took more than a minute to open', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const { promise, resolve } = Promise.withResolvers<void>();
  const onWanted = vi.fn(() => promise);
  const bus = new InMemoryBus({ wanted: { onWanted, wantedMs: 0 } });
  const opening = open(serving({ bus }), A);
  await until(() => onWanted.mock.calls.length === 1);
  vi.setSystemTime(Date.now() + 60_000);
  expect(await bus.isWanted(TOPIC)).toBe(false);
  resolve();
  const stream = await opening;
  expect(await bus.isWanted(TOPIC)).toBe(true);
  vi.setSystemTime(Date.now() + 60_000);
  expect(await bus.isWanted(TOPIC)).toBe(true);
  stream.drop();
  await expect.poll(() => bus.isWanted(TOPIC)).toBe(false);
});

test('an isolate asks for a topic again a minute after it was granted to a stream that never opened', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const ask = vi.fn(async () => []);
  const isolate = new EdgeInterest(ask);
  const [dropped, opened] = [await isolate.want(['a', 'b']), await isolate.want(['b'])];
  opened.keep();
  expect(ask.mock.calls).toEqual([[['a', 'b'], undefined]]);
  vi.setSystemTime(Date.now() + 60_000);
  await isolate.want(['a', 'b']);
  expect(ask.mock.calls.slice(1)).toEqual([[['a'], undefined]]);
  // It may still be released, which changes nothing.
  dropped.release();
  opened.release();
  await isolate.want(['a', 'b']);
  expect(ask).toHaveBeenCalledTimes(2);
});

test('a client that reconnects in time stops nothing', async () => {
  const { calls, wanted } = recorded({ unwantedMs: 600 });
  const server = serving({ bus: new InMemoryBus({ wanted }) });
  for (let round = 0; round < 4; round += 1) {
    const stream = await open(server, A);
    await pause(200);
    stream.drop();
    await pause(200);
  }
  expect(calls).toEqual(['+note://a']);
  await expect.poll(() => calls).toEqual(['+note://a', '-note://a']);
});

test('a topic that is wanted while its hook stops it is started again after that', async () => {
  const { calls, wanted } = recorded();
  const stopped = Promise.withResolvers<void>();
  const { onUnwanted } = wanted;
  wanted.onUnwanted = async (topic, context) => {
    onUnwanted?.(topic, context);
    await stopped.promise;
  };
  const server = serving({ bus: new InMemoryBus({ wanted }) });
  (await open(server, A)).drop();
  await expect.poll(() => calls).toEqual(['+note://a', '-note://a']);
  const again = open(server, A);
  await pause(50);
  expect(calls).toHaveLength(2);
  stopped.resolve();
  await again;
  expect(calls).toEqual(['+note://a', '-note://a', '+note://a']);
});

test('a topic from before a restart starts again, even if its stream comes back late', async () => {
  const { calls, sweep } = restarted(0);
  sweep([], 0);
  sweep(['resource:note://a'], 100);
  sweep(['resource:note://a'], 1_000);
  await expect.poll(() => calls).toEqual(['again +note://a', '-note://b']);
});

test('streams have graceMs to come back after a restart before a topic is stopped', async () => {
  const { calls, sweep } = restarted(10_000);
  for (const now of [0, 1_000, 9_000]) sweep([], now);
  sweep(['resource:note://a'], 9_900);
  sweep(['resource:note://a'], 10_100);
  await expect.poll(() => calls).toEqual(['again +note://a', '-note://b']);
});

/** The hooks of a bus that was restarted, and had called `onWanted` for two topics before. */
function restarted(graceMs: number) {
  const { calls, wanted } = recorded({ unwantedMs: 500 });
  const { hooks, setWanted } = hooked(wanted, graceMs);
  for (const name of ['a', 'b']) hooks.restore(`resource:note://${name}`);
  const sweep = (topics: string[], now: number) => {
    setWanted(topics);
    hooks.sweep(now);
  };
  return { calls, sweep };
}

/** Hooks, and a function that sets the topics that streams have. */
function hooked(wanted: WantedOptions, graceMs: number) {
  let topics = new Set<string>();
  const checked: string[] = [];
  const isWanted = (topic: string) => {
    checked.push(topic);
    return topics.has(topic);
  };
  const hooks = new HookedTopics({
    hooks: wantedOptions(wanted),
    context: { bus: undefined, publish: async () => {} },
    demand: {
      isWanted,
      isMine: () => true,
      isTaken: () => false,
      isElsewhere: () => false,
      isAgain: false,
    },
    onError: () => {},
    onDue: () => {},
    graceMs,
  });
  const setWanted = (now: string[]) => {
    const next = new Set(now);
    hooks.change([...topics, ...next].filter((topic) => topics.has(topic) !== next.has(topic)));
    topics = next;
  };
  return { checked, hooks, setWanted };
}

test('a sweep checks the topics that have changed or are due, and no others', async () => {
  const { wanted } = recorded({ unwantedMs: 500 });
  const { checked, hooks, setWanted } = hooked({ ...wanted, wantedMs: 0 }, 0);
  const names = Array.from({ length: 1_000 }, (_, index) => `resource:note://${index}`);
  setWanted(names);
  hooks.sweep(0);
  await expect.poll(() => names.filter((name) => !hooks.isHeld(name))).toEqual([]);
  hooks.sweep(1);
  checked.length = 0;
  setWanted(names.slice(1));
  expect(hooks.sweep(100)).toEqual({ topics: new Set(names.slice(0, 1)), next: 600 });
  expect(hooks.sweep(599).topics).toEqual(new Set());
  expect(hooks.sweep(600)).toEqual({ topics: new Set(names.slice(0, 1)), next: undefined });
  expect(checked).toEqual([names[0], names[0]]);
});

test('what a hook publishes reaches the stream that it was called for', async () => {
  const onWanted: WantedOptions['onWanted'] = (topic, { publish }) => {
    if (topic.kind === 'resource_updated') setTimeout(() => void publish(topic), 50);
  };
  const stream = await open(serving({ bus: new InMemoryBus({ wanted: { onWanted } }) }), A);
  await stream.message();
  expect(await stream.message()).toBe(updated('1', 'note://a'));
});

test('what a session of 2025 subscribes to is wanted too, and refused as for a stream', async () => {
  const { calls, wanted } = recorded();
  const { onWanted } = wanted;
  wanted.onWanted = (topic, context) => {
    onWanted?.(topic, context);
    return 'uri' in topic && topic.uri === 'note://secret' ? false : undefined;
  };
  wanted.unwantedMs = 300;
  const { send, server } = sessionServer({ bus: new InMemoryBus({ wanted }) });
  const session = await LegacySession.begin(send);
  const stream = await session.open();
  await stream.event();
  calls.length = 0;
  for (const uri of ['note://a', 'note://secret'])
    await session.ask('resources/subscribe', { uri });
  expect(calls).toEqual(['+note://a', '+note://secret']);
  await pause(800);
  expect(calls).toHaveLength(2);
  await server.notify.resourceUpdated('note://secret');
  await server.notify.resourceUpdated('note://a');
  expect(await nextMessage(stream)).toEqual(change('note://a'));
  stream.drop();
  await expect.poll(() => calls).toContain('-note://a');
});

test('the streams of a caller are counted by its name', async () => {
  const server = serving({ principal: (request) => request.headers.get('x-user') ?? undefined });
  const headers = { 'x-user': 'ada' };
  const streams = [await open(server, A, { headers }), await open(server, A, { headers })];
  await open(server, A);
  expect([server.listeners('ada'), server.listeners('bob')]).toEqual([2, 0]);
  streams[0]?.drop();
  await expect.poll(() => server.listeners('ada')).toBe(1);
});

test('a bus without the option refuses to say what is wanted', async () => {
  await expect(new InMemoryBus().isWanted(TOPIC)).rejects.toThrow(ListenError);
});
