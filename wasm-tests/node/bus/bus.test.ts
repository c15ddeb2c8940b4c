import {
  createMcpHandler,
  InMemoryServerEventBus,
  type ServerEventBus,
} from '@modelcontextprotocol/server';
import { InMemoryBus, ListenError, type ServerEvent } from 'mcp-listen';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { listChanged, updated } from '../../host/listen.ts';
import { notebook } from '../sdk/notebook.ts';
import { listenRequest, open, refusal, serving } from '../serving.ts';

const TOOLS = { toolsListChanged: true };
const NOT_EVENTS: [unknown, string][] = [
  [undefined, 'malformed-event'],
  [[], 'malformed-event'],
  [{ kind: 'unheard-of' }, 'unknown-event-kind'],
  [{ kind: 'resource_updated' }, 'invalid-uri'],
  [{ kind: 'resource_updated', uri: '' }, 'invalid-uri'],
  [{ kind: 'resource_updated', uri: 'a\r\nb' }, 'invalid-uri'],
  [{ kind: 'resource_updated', uri: 'x'.repeat(2_049) }, 'invalid-uri'],
];

describe.each([
  ['the in-memory bus', (onError: (error: Error) => void) => new InMemoryBus({ onError })],
  ['a bus written for the SDK', () => new InMemoryServerEventBus() as ServerEventBus],
])('%s', (_name, make) => {
  test('delivers all four kinds of events to the streams that subscribed to them', async () => {
    const server = serving({ bus: make(() => {}) });
    const all = {
      ...TOOLS,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: ['note://a'],
    };
    const stream = await open(server, all);
    await stream.message();
    await server.notify.toolsChanged();
    await server.notify.promptsChanged();
    await server.notify.resourcesChanged();
    await server.notify.resourceUpdated('note://a');
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    expect(await stream.message()).toBe(listChanged('1', 'prompts'));
    expect(await stream.message()).toBe(listChanged('1', 'resources'));
    expect(await stream.message()).toBe(updated('1', 'note://a'));
  });

  test.each([1, 50])('publishes events together or not at all, %i times two', async (times) => {
    const server = serving({ bus: make(() => {}), onError: () => {} });
    const stream = await open(server, { ...TOOLS, resourceSubscriptions: ['note://a'] });
    await stream.message();
    const events: ServerEvent[] = [
      { kind: 'resource_updated', uri: 'note://a' },
      { kind: 'tools_list_changed' },
    ];
    const many = Array.from({ length: times }, () => events).flat();
    await expect(
      server.bus.publishAll([...many, { kind: 'x' } as unknown as ServerEvent]),
    ).rejects.toThrow();
    await server.bus.publishAll([]);
    await server.bus.publishAll(events.toReversed());
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    expect(await stream.message()).toBe(updated('1', 'note://a'));
  });

  test('accepts a publish without listeners', async () => {
    const { notify } = serving({ bus: make(() => {}) });
    await expect(notify.toolsChanged()).resolves.toBeUndefined();
    await expect(notify.resourceUpdated('note://a')).resolves.toBeUndefined();
  });

  test.each(NOT_EVENTS)('refuses %o with a coded error, awaited or not', async (event, code) => {
    const onError = vi.fn();
    const server = serving({ bus: make(onError), onError });
    const published = server.bus.publish(event as ServerEvent);
    await expect(published).rejects.toThrow(ListenError);
    await expect(published).rejects.toMatchObject({ code });
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code }));
  });

  test('drops a stream that has ended', async () => {
    const server = serving({ bus: make(() => {}) });
    const [stream, other] = [await open(server, TOOLS), await open(server, TOOLS)];
    await stream.message();
    await other.message();
    stream.drop();
    expect(server.stats()).toMatchObject({ open: 1, ended: { left: 1 } });
    await server.notify.toolsChanged();
    expect(await other.message()).toBe(listChanged('1', 'tools'));
    expect(server.stats()).toMatchObject({ open: 1, events: 1, notifications: 1 });
    await server.close();
  });
});

describe('the in-memory bus', () => {
  test('calls subscribers until they leave, and isolates one that throws', async () => {
    const onError = vi.fn();
    const bus = new InMemoryBus({ onError });
    const problem = new Error('listener');
    bus.subscribe(() => {
      throw problem;
    });
    const received: ServerEvent[] = [];
    const leave = bus.subscribe((event) => received.push(event));
    await bus.publish({ kind: 'resource_updated', uri: 'note://a' });
    leave();
    leave();
    await bus.publish({ kind: 'tools_list_changed' });
    expect(received).toEqual([{ kind: 'resource_updated', uri: 'note://a' }]);
    expect(onError).toHaveBeenCalledTimes(2);
    expect(onError).toHaveBeenCalledWith(problem);
  });

  test.each([
    ['logEvents', { logEvents: 10 }, 0],
    ['logAgeMs', { logAgeMs: 1_000 }, 1_200],
  ])('bounds its log by %s', async (_by, options, wait) => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const bus = new InMemoryBus(options);
    const { epoch } = attachedAt(bus);
    for (let count = 1; count <= 10; count += 1) await bus.publish({ kind: 'tools_list_changed' });
    expect(attachedAt(bus, `0-${epoch}`)).toMatchObject({ position: 0, replayed: 1 });
    vi.advanceTimersByTime(wait);
    await bus.publish({ kind: 'prompts_list_changed' });
    await bus.publish({ kind: 'tools_list_changed' });
    expect(attachedAt(bus, `0-${epoch}`)).toMatchObject({ position: 12, replayed: 0 });
    expect(attachedAt(bus, `10-${epoch}`)).toMatchObject({ position: 10, replayed: 2 });
    expect(attachedAt(bus, `12-${epoch}`)).toMatchObject({ position: 12, replayed: 0 });
    expect(attachedAt(bus, '12-another')).toMatchObject({ position: 12, replayed: 0 });
    vi.useRealTimers();
  });

  test.each([{ logEvents: 0 }, { logEvents: 1.5 }, { logAgeMs: 0 }, { logAgeMs: Number.NaN }])(
    'refuses a log of %o',
    (options) => {
      expect(() => new InMemoryBus(options)).toThrow(
        expect.objectContaining({ code: 'invalid-options' }),
      );
    },
  );

  test('works as the bus of the SDK', async () => {
    const bus = new InMemoryBus();
    const handler = createMcpHandler(() => notebook(), { bus });
    const response = await handler.fetch(listenRequest(TOOLS));
    const reader = response.body?.getReader();
    await reader?.read();
    handler.notify.toolsChanged();
    const { value } = (await reader?.read()) ?? {};
    expect(new TextDecoder().decode(value)).toContain('notifications/tools/list_changed');
    await reader?.cancel();
    expect(bus.attached).toBe(0);
  });
});

describe('a listener of the in-memory bus', () => {
  test('that throws, as onError does, keeps nothing from the others', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    onTestFinished(() => log.mockRestore());
    const failing = (): never => {
      throw new Error('it fails');
    };
    const bus = new InMemoryBus({ onError: failing });
    bus.subscribe(failing);
    const received: ServerEvent[] = [];
    bus.subscribe((event) => received.push(event));
    const stream = await open(serving({ bus }), TOOLS);
    await stream.message();
    await bus.publish({ kind: 'tools_list_changed' });
    expect(received).toEqual([{ kind: 'tools_list_changed' }]);
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    await expect(bus.publish({ kind: 'unheard-of' } as unknown as ServerEvent)).rejects.toThrow();
    expect(log).toHaveBeenCalledTimes(2);
  });

  test('may publish and leave while it is called', async () => {
    const bus = new InMemoryBus();
    const received: string[] = [];
    const leave = bus.subscribe(({ kind }) => {
      leave();
      received.push(kind);
      void bus.publish({ kind: 'prompts_list_changed' });
    });
    bus.subscribe(({ kind }) => received.push(kind));
    await bus.publish({ kind: 'tools_list_changed' });
    expect(received).toEqual(['tools_list_changed', 'tools_list_changed', 'prompts_list_changed']);
  });

  test('that publishes does so after what it was called with, for all', async () => {
    const bus = new InMemoryBus();
    const stream = await open(serving({ bus }), { ...TOOLS, promptsListChanged: true });
    await stream.message();
    bus.subscribe(({ kind }) => {
      if (kind === 'tools_list_changed') void bus.publish({ kind: 'prompts_list_changed' });
    });
    const received: string[] = [];
    bus.subscribe(({ kind }) => received.push(kind));
    await bus.publishAll([{ kind: 'tools_list_changed' }, { kind: 'resources_list_changed' }]);
    expect(received).toEqual([
      'tools_list_changed',
      'resources_list_changed',
      'prompts_list_changed',
    ]);
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    expect(await stream.message()).toBe(listChanged('1', 'prompts'));
  });

  test('gets no members that events do not have', async () => {
    const bus = new InMemoryBus();
    const lines: string[] = [];
    const sink = { streams: 0, publish: (text: string) => lines.push(text) };
    bus.subscribeAll({ ...sink, gap() {}, release() {} });
    await bus.publish({ kind: 'tools_list_changed', note: 'x' } as ServerEvent);
    expect(lines).toEqual(['{"kind":"tools_list_changed"}']);
  });
});

describe('a bus written for the SDK', () => {
  test('is subscribed to before the ack, and left when the stream ends', async () => {
    const bus = new InMemoryServerEventBus();
    const server = serving({ bus: bus as ServerEventBus });
    const stream = await open(server, TOOLS);
    expect(bus.listenerCount).toBe(1);
    stream.drop();
    expect(bus.listenerCount).toBe(0);
  });

  test('that throws gives 503 on subscribe, and is reported on unsubscribe', async () => {
    const onError = vi.fn();
    const bus = {
      publish() {},
      subscribe: vi.fn(() => () => {
        throw new Error('unsubscribe');
      }),
    };
    const server = serving({ bus, onError });
    const stream = await open(server, TOOLS);
    stream.drop();
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ message: 'unsubscribe' }));
    bus.subscribe.mockImplementation(() => {
      throw new Error('subscribe');
    });
    expect(await refusal(await server.fetch(listenRequest(TOOLS)))).toMatchObject({ status: 503 });
  });

  test('may publish events with params, which notifications leave out', async () => {
    const bus = new InMemoryServerEventBus();
    const stream = await open(serving({ bus: bus as ServerEventBus }), {
      resourceSubscriptions: ['note://a'],
    });
    await stream.message();
    bus.publish({
      kind: 'resource_updated',
      uri: 'note://a',
      params: { uri: 'note://b', _meta: { own: true } },
    });
    expect(await stream.message()).toBe(updated('1', 'note://a'));
  });

  test('that delivers an invalid event loses only that one', async () => {
    const onError = vi.fn();
    const bus = new InMemoryServerEventBus();
    const server = serving({ bus: bus as ServerEventBus, onError });
    const stream = await open(server, TOOLS);
    await stream.message();
    bus.publish({ kind: 'unheard-of' } as unknown as Parameters<typeof bus.publish>[0]);
    bus.publish({ kind: 'tools_list_changed' });
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'unknown-event-kind' }));
  });
});

/**
 * The epoch and the position at which an edge resumes after `since`, and the number of events that
 * are replayed to it.
 */
function attachedAt(
  bus: InMemoryBus,
  since?: string,
): { epoch: string; position: number; replayed: number } {
  const frames: string[] = [];
  const [, position, epoch] = /^(\d+)-(.+)$/.exec(since ?? '') ?? [];
  const resumed = position === undefined ? {} : { since: Number(position), epoch };
  const listener = { onFrame: (frame: string) => void frames.push(frame), onLost: () => {} };
  const follow = {
    v: 1,
    type: 'follow',
    seq: 1,
    fresh: true,
    add: ['tools', 'prompts'],
    ...resumed,
  };
  bus.connect(JSON.stringify(follow), listener).close();
  const [reply, ...batches] = frames.map((frame) => JSON.parse(frame));
  return {
    epoch: reply.epoch,
    position: reply.after,
    replayed: batches.flatMap(({ events }) => events).length,
  };
}
