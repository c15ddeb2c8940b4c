import {
  type Authorization,
  type AuthorizeContext,
  createListenHandler,
  InMemoryBus,
  type ListenBus,
  type ListenHandlerOptions,
} from 'mcp-listen';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { change, LegacySession, nextMessage } from '../../host/legacy.ts';
import { listChanged, type WireStream } from '../../host/listen.ts';
import { BUSES } from '../bus/breakable-bus.ts';
import { open, serving, TOOLS } from '../serving.ts';
import { sessionServer } from '../sessions/serving.ts';

const BOTH = { toolsListChanged: true, resourceSubscriptions: ['note://a'] };
const CUE = listChanged('1', 'tools');

// Streams are written to after the turn of the event loop in which an event arrives.
beforeEach(() => void vi.useFakeTimers({ shouldAdvanceTime: true, advanceTimeDelta: 1 }));
afterEach(() => void vi.useRealTimers());

/** An authorizer whose result a test can change. */
function changeable() {
  const asked: AuthorizeContext[] = [];
  const rights = {
    asked,
    result: ({ requested }: AuthorizeContext): Authorization | Promise<Authorization> => requested,
    authorize: (context: AuthorizeContext) => {
      asked.push(context);
      return rights.result(context);
    },
  };
  return rights;
}

/** Serves on a new bus. */
function servedOn(newBus: () => ListenBus) {
  return (options: ListenHandlerOptions) => serving({ bus: newBus(), keepAliveMs: 0, ...options });
}

const FAILURES: [
  why: string,
  result: () => Authorization | Promise<Authorization>,
  code: string | undefined,
][] = [
  ['denies', () => ({ denied: 403 }), undefined],
  ['allows less', () => ({}), undefined],
  ['throws', () => Promise.reject(new Error('secret')), 'authorizer-failed'],
  ['times out', () => new Promise<never>(() => {}), 'authorizer-timeout'],
  ['returns an invalid filter', () => ({ toolsListChanged: 'yes' }) as never, 'invalid-filter'],
];

describe.each(BUSES)('on %s', (_, newBus) => {
  const served = servedOn(newBus);

  test('authorize is called again neither within 30 seconds nor without a cue', async () => {
    const rights = changeable();
    const server = served({ authorize: rights.authorize });
    const stream = await open(server, TOOLS);
    await stream.message();
    await vi.advanceTimersByTimeAsync(29_900);
    await server.notify.toolsChanged();
    expect(await stream.message()).toBe(CUE);
    await vi.advanceTimersByTimeAsync(300_000);
    expect(rights.asked).toHaveLength(1);
  });

  test('a cue after 30 seconds waits for authorize, and is sent once it allows', async () => {
    const rights = changeable();
    const server = served({ authorize: rights.authorize, principal: () => 'ann' });
    const stream = await open(server, BOTH);
    await stream.message();
    await vi.advanceTimersByTimeAsync(30_000);
    const pending = Promise.withResolvers<Authorization>();
    rights.result = () => pending.promise;
    const next = stream.message();
    for (let count = 0; count < 3; count += 1) await server.notify.toolsChanged();
    await vi.advanceTimersByTimeAsync(5);
    expect(rights.asked).toHaveLength(2);
    expect(rights.asked[1]).toMatchObject({ principal: 'ann', requested: BOTH });
    pending.resolve(BOTH);
    expect(await next).toBe(CUE);
    await server.notify.resourceUpdated('note://a');
    expect(await stream.message()).toContain('note://a');
    expect(rights.asked).toHaveLength(2);
    expect(server.stats()).toMatchObject({ open: 1, notifications: 2, collapsed: 2 });
  });

  test.each(FAILURES)(
    'a stream ends without the cue and a result where authorize later %s',
    async (...row) => {
      const [, result, code] = row;
      const onError = vi.fn();
      const rights = changeable();
      const server = served({ authorize: rights.authorize, onError });
      const stream = await open(server, TOOLS);
      await stream.message();
      await vi.advanceTimersByTimeAsync(30_000);
      rights.result = result;
      await server.notify.toolsChanged();
      const next = stream.message();
      await vi.advanceTimersByTimeAsync(2_000);
      expect(await next).toBeUndefined();
      expect(server.stats()).toMatchObject({
        open: 0,
        notifications: 0,
        ended: { denied: 1, closed: 0 },
      });
      expect(onError.mock.calls).toEqual(
        code === undefined ? [] : [[expect.objectContaining({ code })]],
      );
    },
  );
});

describe.each(BUSES)('a stream on %s', (_, newBus) => {
  const served = servedOn(newBus);

  test('whose client leaves while authorize runs counts as left', async () => {
    const rights = changeable();
    const server = served({ authorize: rights.authorize });
    const stream = await open(server, TOOLS);
    await stream.message();
    await vi.advanceTimersByTimeAsync(30_000);
    const pending = Promise.withResolvers<Authorization>();
    rights.result = () => pending.promise;
    const next = stream.message();
    await server.notify.toolsChanged();
    stream.drop();
    pending.resolve(TOOLS);
    await vi.advanceTimersByTimeAsync(0);
    expect(server.stats()).toMatchObject({ open: 0, ended: { left: 1, denied: 0 } });
    expect(await next).toBeUndefined();
  });

  test.each([0, Number.POSITIVE_INFINITY])(
    'calls authorize once with authorizationTtlMs: %s',
    async (authorizationTtlMs) => {
      const rights = changeable();
      const server = served({ authorize: rights.authorize, authorizationTtlMs });
      const stream = await open(server, TOOLS);
      await stream.message();
      await vi.advanceTimersByTimeAsync(3_600_000);
      await server.notify.toolsChanged();
      expect(await stream.message()).toBe(CUE);
      expect(rights.asked).toHaveLength(1);
    },
  );
});

describe.each(BUSES)('a closing stream on %s', (_, newBus) => {
  const served = servedOn(newBus);

  test('ends without a result where its callbacks together exceed authorizeMs', async () => {
    let ms = 0;
    const slowly = async <T>(value: T): Promise<T> => {
      await new Promise((resolve) => setTimeout(resolve, ms));
      return value;
    };
    const server = served({
      principal: () => slowly('ann'),
      authorize: ({ requested }) => slowly(requested),
    });
    const opening = open(server, TOOLS);
    await vi.advanceTimersByTimeAsync(10);
    const stream = await opening;
    await stream.message();
    await vi.advanceTimersByTimeAsync(30_000);
    ms = 1_900;
    await server.notify.toolsChanged();
    const closed = server.close();
    const rest = stream.message();
    await vi.advanceTimersByTimeAsync(3_000);
    await closed;
    expect(await rest).toBeUndefined();
    expect(server.stats()).toMatchObject({
      open: 0,
      notifications: 0,
      ended: { denied: 1, closed: 0 },
    });
  });

  test('waits for authorize', async () => {
    const rights = changeable();
    const server = served({ authorize: rights.authorize });
    const stream = await open(server, TOOLS);
    await stream.message();
    await vi.advanceTimersByTimeAsync(30_000);
    await server.notify.toolsChanged();
    const closed = server.close();
    expect(await stream.message()).toBe(CUE);
    expect(await stream.message()).toContain('"result"');
    await closed;
  });
});

describe('the stream of a session', () => {
  async function streaming(rights: ReturnType<typeof changeable>) {
    const served = sessionServer({ authorize: rights.authorize, keepAliveMs: 0 });
    const session = await LegacySession.begin(served.send);
    await session.ask('resources/subscribe', { uri: 'note://a' });
    const stream = await session.open();
    await stream.event();
    return { ...served, session, stream };
  }

  test('calls authorize again with its lists and all its resources', async () => {
    const rights = changeable();
    const { server, stream } = await streaming(rights);
    await vi.advanceTimersByTimeAsync(30_000);
    await server.notify.resourceUpdated('note://a');
    expect(await nextMessage(stream)).toEqual(change('note://a'));
    expect(rights.asked.at(-1)?.requested).toEqual({ ...BOTH, resourcesListChanged: true });
    expect(rights.asked).toHaveLength(3);
  });

  test('ends where it is denied, and a new stream receives what is still allowed', async () => {
    const rights = changeable();
    const { server, session, stream } = await streaming(rights);
    await vi.advanceTimersByTimeAsync(30_000);
    rights.result = () => TOOLS;
    await server.notify.resourceUpdated('note://a');
    expect(await stream.event()).toBeUndefined();
    expect(server.stats()).toMatchObject({ open: 0, ended: { denied: 1 } });
    const again: WireStream = await session.open();
    await again.event();
    await server.notify.resourceUpdated('note://a');
    await server.notify.toolsChanged();
    expect(await nextMessage(again)).toMatchObject({ method: 'notifications/tools/list_changed' });
  });
});

test('a caller that is disconnected while its stream opens slowly is authorized before the first cue', async () => {
  const rights = changeable();
  const discovering = Promise.withResolvers<void>();
  const server = createListenHandler(
    async () => {
      await discovering.promise;
      const capabilities = { tools: { listChanged: true } };
      return Response.json({ jsonrpc: '2.0', id: 1, result: { capabilities } });
    },
    { authorize: rights.authorize, principal: () => 'ann', keepAliveMs: 0 },
  );
  const opening = open(server, TOOLS);
  await vi.advanceTimersByTimeAsync(2_100);
  expect(rights.asked).toHaveLength(1);
  rights.result = () => ({ denied: 403 });
  await server.disconnect('ann');
  discovering.resolve();
  const stream = await opening;
  await stream.message();
  await server.notify.toolsChanged();
  expect(await stream.message()).toBeUndefined();
  expect(server.stats().ended).toMatchObject({ denied: 1 });
});

test('the result of authorize is valid for 30 seconds from when it was given', async () => {
  const rights = changeable();
  const opened = Promise.withResolvers<void>();
  const bus = Object.assign(new InMemoryBus(), { ready: () => opened.promise });
  const server = serving({ bus, authorize: rights.authorize, keepAliveMs: 0 });
  const opening = open(server, TOOLS);
  await vi.advanceTimersByTimeAsync(400);
  opened.resolve();
  const stream = await opening;
  await stream.message();
  await vi.advanceTimersByTimeAsync(29_700);
  await server.notify.toolsChanged();
  expect(await stream.message()).toBe(CUE);
  expect(rights.asked).toHaveLength(2);
});
