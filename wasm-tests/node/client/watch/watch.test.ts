import {
  SubscriptionRefused,
  SubscriptionsNotSupported,
  type Watch,
  type WatchHandler,
  type WatchOptions,
  watch,
} from 'mcp-listen/client';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { served } from '../serving.ts';

const FILTER = {
  toolsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ['note://a'],
};

async function watching(
  handler: WatchHandler,
  options: WatchOptions = {},
  filter: object = FILTER,
) {
  const host = await served();
  onTestFinished(() => host.stop());
  const watched = watch(host.url, filter, handler, options);
  onTestFinished(() => watched.close());
  return { ...host, watched };
}

async function until(watched: Watch, state: Watch['state']): Promise<void> {
  await expect.poll(() => watched.state).toBe(state);
}

describe('a watch', () => {
  test('reads everything that is honored when it opens, and then what changes', async () => {
    const read: string[] = [];
    const handlers = {
      tools: () => read.push('tools'),
      resources: () => read.push('resources'),
      resource: (uri: string) => read.push(uri),
      prompts: () => read.push('prompts'),
    };
    const { server, watched } = await watching(handlers);
    expect(watched.state).toBe('connecting');
    await until(watched, 'live');
    expect(watched.honored).toEqual(FILTER);
    expect(read).toEqual(['tools', 'resources', 'note://a']);
    await server.notify.resourceUpdated('note://a');
    await expect.poll(() => read.slice(3)).toEqual(['note://a']);
  });

  test('opens again after a graceful end, and reads again each time', async () => {
    let reads = 0;
    const { server, bus, watched } = await watching(() => {
      reads += 1;
    });
    await until(watched, 'live');
    await server.drain({ count: 1, windowMs: 0 });
    await expect.poll(() => watched.reconnects).toBe(1);
    await until(watched, 'live');
    await expect.poll(() => reads).toBe(2);
    expect(bus.attached).toBe(1);
  });
});

describe('the handlers of a watch', () => {
  test('run once more for all changes that come while they run', async () => {
    let runs = 0;
    let go = () => {};
    const { server, watched } = await watching(async () => {
      runs += 1;
      await new Promise<void>((resolve) => {
        go = resolve;
      });
    });
    await until(watched, 'live');
    expect(runs).toBe(1);
    for (let count = 0; count < 10; count += 1) await server.notify.toolsChanged();
    await new Promise((resolve) => setTimeout(resolve, 100));
    go();
    await expect.poll(() => runs).toBe(2);
    go();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(runs).toBe(2);
  });

  test('may fail, which is reported to onError', async () => {
    const failures: unknown[] = [];
    let runs = 0;
    const { server, watched } = await watching(
      () => {
        runs += 1;
        throw new Error('no');
      },
      { onError: (error) => failures.push(error.code) },
    );
    await until(watched, 'live');
    await server.notify.toolsChanged();
    await expect.poll(() => runs).toBe(2);
    expect(failures).toEqual(['handler-failed', 'handler-failed']);
  });
});

describe('a function of the application that throws', () => {
  const thrown: unknown[] = [];

  beforeEach(() => {
    thrown.length = 0;
    vi.spyOn(globalThis, 'queueMicrotask').mockImplementation((task) => {
      try {
        task();
      } catch (error) {
        thrown.push(error);
      }
    });
  });

  afterEach(() => {
    vi.restoreAllMocks();
  });

  const failing = () => {
    throw new Error('of the application');
  };

  test('keeps no handler from later calls', async () => {
    const handler = vi.fn(failing);
    const { server, watched } = await watching(handler, { onError: failing });
    await until(watched, 'live');
    await server.notify.toolsChanged();
    await expect.poll(() => handler).toHaveBeenCalledTimes(2);
    expect(thrown).toHaveLength(2);
  });

  test('keeps no watch from opening again', async () => {
    const { server, watched } = await watching(() => {}, { onError: failing });
    const leave = watched.subscribe(failing);
    await until(watched, 'live');
    await server.drain({ count: 1, windowMs: 0 });
    await expect.poll(() => watched.reconnects).toBe(1);
    await until(watched, 'live');
    leave();
    expect(thrown.length).toBeGreaterThan(0);
  });
});

describe('an onMessage that throws', () => {
  test.each(['in', 'out'])('for a message %s keeps no watch from opening again', async (way) => {
    const thrown = vi.fn();
    vi.spyOn(globalThis, 'queueMicrotask').mockImplementation((task) => {
      void Promise.resolve().then(task).catch(thrown);
    });
    onTestFinished(() => void vi.restoreAllMocks());
    let isThrowing = false;
    const onMessage: WatchOptions['onMessage'] = ({ direction }) => {
      if (isThrowing && direction === way) throw new Error('of the application');
    };
    const handler = vi.fn();
    const { server, watched } = await watching(handler, { onMessage });
    await until(watched, 'live');
    isThrowing = true;
    await server.drain({ count: 1, windowMs: 0 });
    await expect.poll(() => watched.reconnects).toBe(1);
    await until(watched, 'live');
    await expect.poll(() => handler).toHaveBeenCalledTimes(2);
    expect(watched.reconnects).toBe(1);
    expect(thrown).toHaveBeenCalled();
  });
});

describe('the end of a watch', () => {
  test.each([
    [401, undefined, SubscriptionRefused],
    [403, undefined, SubscriptionRefused],
    [404, -32_601, SubscriptionsNotSupported],
  ])('comes with %i', async (status, code, kind) => {
    let asked = 0;
    const respond = () => {
      asked += 1;
      const error = { jsonrpc: '2.0', id: 'mcp-listen:1', error: { code, message: 'no' } };
      return Promise.resolve(
        code ? Response.json(error, { status }) : new Response(null, { status }),
      );
    };
    const watched = watch('http://nowhere.test/mcp', FILTER, () => {}, {
      fetch: respond,
      revision: '2026-07-28',
    });
    await until(watched, 'stopped');
    expect(watched.error).toBeInstanceOf(kind);
    expect(watched.error).toMatchObject({ status });
    expect(asked).toBe(1);
  });

  test('and its other states notify subscribers', async () => {
    const states: string[] = [];
    const { watched } = await watching(() => {});
    const leave = watched.subscribe(() => states.push(watched.state));
    await until(watched, 'live');
    await watched.close();
    leave();
    expect(states).toEqual(['live', 'stopped']);
  });

  test('comes with an aborted signal, and ends its stream', async () => {
    const abort = new AbortController();
    const { bus, watched } = await watching(() => {}, { signal: abort.signal });
    await until(watched, 'live');
    abort.abort();
    expect(watched.state).toBe('stopped');
    await expect.poll(() => bus.attached).toBe(0);
  });
});

describe('a watch that opens again', () => {
  test('remembers the revision of its server', async () => {
    const { server, watched, requests } = await watching(() => {});
    await until(watched, 'live');
    expect(requests()).toBe(2);
    await server.drain({ count: 1, windowMs: 0 });
    await expect.poll(() => watched.reconnects).toBe(1);
    expect(requests()).toBe(3);
  });
});
