import { setTimeout } from 'node:timers/promises';
import {
  type AuthorizeContext,
  InMemoryBus,
  type ListenHandler,
  type SubscriptionFilter,
} from 'mcp-listen';
import { describe, expect, test, vi } from 'vitest';
import { change, fields, heard, LegacySession, listChange } from '../../host/legacy.ts';
import { declaring } from '../../host/options.ts';
import { refusal } from '../serving.ts';
import { sessionServer } from './serving.ts';

describe('a client before notifications/initialized', () => {
  test('receives nothing, and then a cue per subject that changed since initialize', async () => {
    const { send, server } = sessionServer();
    const session = await LegacySession.initialize(send);
    await server.notify.toolsChanged();
    const stream = await session.open();
    expect(fields(await stream.event()).data).toBe('');
    await session.ask('resources/subscribe', { uri: 'note://a' });
    await changeAll(server);
    const first = stream.event();
    expect(await Promise.race([first, setTimeout(100, 'silence')])).toBe('silence');
    await changeAll(server);
    expect((await session.ready()).status).toBe(202);
    expect(fields(await first).data).toEqual(listChange('tools'));
    expect(await heard(stream)).toEqual(change('note://a'));
    await server.notify.resourcesChanged();
    expect(await heard(stream)).toEqual(listChange('resources'));
    await session.ready();
    await server.notify.toolsChanged();
    expect(await heard(stream)).toEqual(listChange('tools'));
  });

  test('receives no cues for an unknown event id either', async () => {
    const { send, server } = sessionServer({ server: declaring({ tools: { listChanged: true } }) });
    const session = await LegacySession.initialize(send);
    const stream = await session.open('nonsense');
    expect(fields(await stream.event())).toEqual({ id: 'unknown', data: '' });
    const first = stream.event();
    expect(await Promise.race([first, setTimeout(100, 'silence')])).toBe('silence');
    await session.ready();
    expect(fields(await first).data).toEqual(listChange('tools'));
    await server.close();
    expect(await stream.event()).toBeUndefined();
  });

  test('loses nothing when its stream ends first', async () => {
    const { send, server } = sessionServer();
    const session = await LegacySession.initialize(send);
    const stream = await session.open();
    const { id } = fields(await stream.event());
    await server.notify.toolsChanged();
    stream.drop();
    const next = await session.open(id);
    await session.ready();
    expect(fields(await next.event())).toEqual({ id, data: '' });
    expect(await heard(next)).toEqual(listChange('tools'));
  });
});

describe('a session whose stream opens later', () => {
  test('receives a cue per subject that changed since it began, and none from before', async () => {
    const { send, server } = sessionServer();
    await server.notify.resourcesChanged();
    const session = await LegacySession.begin(send);
    await server.notify.toolsChanged();
    await session.ask('resources/subscribe', { uri: 'note://a' });
    for (let twice = 0; twice < 2; twice += 1) await changeAll(server);
    await server.notify.resourceUpdated('note://b');
    const stream = await session.open();
    await stream.event();
    expect(await heard(stream)).toEqual(change('note://a'));
    expect(await heard(stream)).toEqual(listChange('tools'));
    await server.notify.resourcesChanged();
    expect(await heard(stream)).toEqual(listChange('resources'));
  });

  test('loses nothing where its client reconnects without an event id', async () => {
    const { bus, send, server } = sessionServer();
    const session = await LegacySession.begin(send);
    const stream = await session.open();
    await stream.event();
    stream.drop();
    await expect.poll(() => bus.attached).toBe(0);
    await server.notify.toolsChanged();
    const again = await session.open();
    await again.event();
    expect(await heard(again)).toEqual(listChange('tools'));
  });

  test('is cued for everything where the log does not reach back far enough', async () => {
    const bus = new InMemoryBus({ logEvents: 10 });
    const { send } = sessionServer({ bus, server: declaring({ tools: { listChanged: true } }) });
    const session = await LegacySession.begin(send);
    for (let count = 0; count <= 10; count += 1)
      await bus.publish({ kind: 'prompts_list_changed' });
    const stream = await session.open();
    expect(fields(await stream.event())).toEqual({ id: 'unknown', data: '' });
    expect(await heard(stream)).toEqual(listChange('tools'));
  });

  test('loses nothing on a bus written for the SDK, subscribed to from the first session on', async () => {
    const listeners = new Set<unknown>();
    const bus = {
      publish: (event: unknown) => {
        for (const listener of listeners) (listener as (event: unknown) => void)(event);
      },
      subscribe: (listener: unknown) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
    const { send, server } = sessionServer({ bus });
    expect(listeners.size).toBe(0);
    const session = await LegacySession.begin(send);
    expect(listeners.size).toBe(1);
    await LegacySession.begin(send);
    expect(listeners.size).toBe(1);
    await server.notify.toolsChanged();
    const stream = await session.open();
    await stream.event();
    expect(await heard(stream)).toEqual(listChange('tools'));
  });
});

describe('authorize, called for each stream', () => {
  const ALL = { toolsListChanged: true, resourcesListChanged: true };

  test('receives the lists and the resources of the session', async () => {
    const authorize = vi.fn(({ requested }: AuthorizeContext) => requested);
    const session = await LegacySession.begin(sessionServer({ authorize }).send);
    for (const uri of ['a', 'b']) await session.ask('resources/subscribe', { uri });
    await session.open();
    expect(authorize.mock.lastCall?.[0].requested).toEqual({
      ...ALL,
      resourceSubscriptions: ['a', 'b'],
    });
  });

  test('can remove what it permitted, and permit it again', async () => {
    let permitted: SubscriptionFilter = { ...ALL, resourceSubscriptions: ['a', 'b'] };
    const { send, server } = sessionServer({ authorize: () => permitted });
    const session = await LegacySession.begin(send);
    for (const uri of ['a', 'b']) await session.ask('resources/subscribe', { uri });
    permitted = { toolsListChanged: true, resourceSubscriptions: ['b', 'c'] };
    const stream = await session.open();
    await stream.event();
    await session.ask('resources/subscribe', { uri: 'c' });
    for (const uri of ['a', 'b', 'c']) await server.notify.resourceUpdated(uri);
    await server.notify.resourcesChanged();
    await server.notify.toolsChanged();
    expect(await heard(stream)).toEqual(change('b'));
    expect(await heard(stream)).toEqual(change('c'));
    const { id, data } = fields(await stream.event());
    expect(data).toEqual(listChange('tools'));
    permitted = { ...ALL, resourceSubscriptions: ['a', 'b', 'c'] };
    const next = await session.open(id);
    await next.event();
    await server.notify.resourceUpdated('a');
    expect(await heard(next)).toEqual(change('a'));
  });

  test('permits a resource that is subscribed to again', async () => {
    let permitted: SubscriptionFilter = { resourceSubscriptions: ['a'] };
    const { send, server } = sessionServer({ authorize: () => permitted });
    const session = await LegacySession.begin(send);
    await session.ask('resources/subscribe', { uri: 'a' });
    permitted = {};
    const stream = await session.open();
    await stream.event();
    await session.ask('resources/unsubscribe', { uri: 'a' });
    permitted = { resourceSubscriptions: ['a'] };
    await session.ask('resources/subscribe', { uri: 'a' });
    await server.notify.resourceUpdated('a');
    expect(await heard(stream)).toEqual(change('a'));
  });

  test('removes a resource that it denies at a second subscribe', async () => {
    let permitted: SubscriptionFilter = { resourceSubscriptions: ['a', 'b'] };
    const { send, server } = sessionServer({ authorize: () => permitted });
    const session = await LegacySession.begin(send);
    for (const uri of ['a', 'b']) await session.ask('resources/subscribe', { uri });
    const stream = await session.open();
    await stream.event();
    permitted = { resourceSubscriptions: ['b'] };
    expect(await session.ask('resources/subscribe', { uri: 'a' })).toMatchObject({ result: {} });
    for (const uri of ['a', 'b']) await server.notify.resourceUpdated(uri);
    expect(await heard(stream)).toEqual(change('b'));
  });

  test('with an invalid filter gives 503', async () => {
    const onError = vi.fn();
    const authorize = () => ({ toolsListChanged: 1 }) as unknown as SubscriptionFilter;
    const session = await LegacySession.begin(sessionServer({ authorize, onError }).send);
    expect(await refusal(await session.get())).toMatchObject({ status: 503, code: -32_603 });
    expect(onError).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ code: 'invalid-filter' }),
    );
  });
});

/** Changes the resource `note://a`, then the list of tools. */
async function changeAll({ notify }: ListenHandler): Promise<void> {
  await notify.resourceUpdated('note://a');
  await notify.toolsChanged();
}
