import { setTimeout } from 'node:timers/promises';
import {
  type AuthorizeContext,
  InMemoryBus,
  type ListenHandler,
  type SubscriptionFilter,
} from 'mcp-listen';
import { describe, expect, test, vi } from 'vitest';
import { change, fields, nextMessage, LegacySession, listChange } from '../host/legacy.ts';
import { declaring } from '../host/options.ts';
import { sessionServer } from './legacy-serving.ts';
import { refusal } from './serving.ts';

describe('a client that has yet to say that it is ready', () => {
  test('is sent nothing, and then once of each subject whatever changed since it initialized', async () => {
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
    expect(await nextMessage(stream)).toEqual(change('note://a'));
    await server.notify.resourcesChanged();
    expect(await nextMessage(stream)).toEqual(listChange('resources'));
    await session.ready();
    await server.notify.toolsChanged();
    expect(await nextMessage(stream)).toEqual(listChange('tools'));
  });

  test('is not sent what a lost place in the log is made up for with either', async () => {
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

  test('loses nothing when its stream ends before that', async () => {
    const { send, server } = sessionServer();
    const session = await LegacySession.initialize(send);
    const stream = await session.open();
    const { id } = fields(await stream.event());
    await server.notify.toolsChanged();
    stream.drop();
    const next = await session.open(id);
    await session.ready();
    expect(fields(await next.event())).toEqual({ id, data: '' });
    expect(await nextMessage(next)).toEqual(listChange('tools'));
  });
});

describe('a session whose stream comes later', () => {
  test('hears once of each subject that changed since it began, and of nothing before that', async () => {
    const { send, server } = sessionServer();
    await server.notify.resourcesChanged();
    const session = await LegacySession.begin(send);
    await server.notify.toolsChanged();
    await session.ask('resources/subscribe', { uri: 'note://a' });
    for (let twice = 0; twice < 2; twice += 1) await changeAll(server);
    await server.notify.resourceUpdated('note://b');
    const stream = await session.open();
    await stream.event();
    expect(await nextMessage(stream)).toEqual(change('note://a'));
    expect(await nextMessage(stream)).toEqual(listChange('tools'));
    await server.notify.resourcesChanged();
    expect(await nextMessage(stream)).toEqual(listChange('resources'));
  });

  test('loses nothing either where its client comes back without an event id', async () => {
    const { bus, send, server } = sessionServer();
    const session = await LegacySession.begin(send);
    const stream = await session.open();
    await stream.event();
    stream.drop();
    await expect.poll(() => bus.attached).toBe(0);
    await server.notify.toolsChanged();
    const again = await session.open();
    await again.event();
    expect(await nextMessage(again)).toEqual(listChange('tools'));
  });

  test('hears of everything where the log does not reach back so far', async () => {
    const bus = new InMemoryBus({ logEvents: 10 });
    const { send } = sessionServer({ bus, server: declaring({ tools: { listChanged: true } }) });
    const session = await LegacySession.begin(send);
    for (let count = 0; count <= 10; count += 1)
      await bus.publish({ kind: 'prompts_list_changed' });
    const stream = await session.open();
    expect(fields(await stream.event())).toEqual({ id: 'unknown', data: '' });
    expect(await nextMessage(stream)).toEqual(listChange('tools'));
  });

  test('loses nothing on a bus written for the SDK, which is followed from the first session on', async () => {
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
    expect(await nextMessage(stream)).toEqual(listChange('tools'));
  });
});

describe('authorize, asked again for each stream', () => {
  const ALL = { toolsListChanged: true, resourcesListChanged: true };

  test('is told the lists and what the session watches', async () => {
    const authorize = vi.fn(({ requested }: AuthorizeContext) => requested);
    const session = await LegacySession.begin(sessionServer({ authorize }).send);
    for (const uri of ['a', 'b']) await session.ask('resources/subscribe', { uri });
    await session.open();
    expect(authorize.mock.lastCall?.[0].requested).toEqual({
      ...ALL,
      resourceSubscriptions: ['a', 'b'],
    });
  });

  test('takes away what was permitted once, and gives it back', async () => {
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
    expect(await nextMessage(stream)).toEqual(change('b'));
    expect(await nextMessage(stream)).toEqual(change('c'));
    const { id, data } = fields(await stream.event());
    expect(data).toEqual(listChange('tools'));
    permitted = { ...ALL, resourceSubscriptions: ['a', 'b', 'c'] };
    const next = await session.open(id);
    await next.event();
    await server.notify.resourceUpdated('a');
    expect(await nextMessage(next)).toEqual(change('a'));
  });

  test('lets a resource be heard that was subscribed to anew since', async () => {
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
    expect(await nextMessage(stream)).toEqual(change('a'));
  });

  test('takes a resource out that is subscribed to once more in vain', async () => {
    let permitted: SubscriptionFilter = { resourceSubscriptions: ['a', 'b'] };
    const { send, server } = sessionServer({ authorize: () => permitted });
    const session = await LegacySession.begin(send);
    for (const uri of ['a', 'b']) await session.ask('resources/subscribe', { uri });
    const stream = await session.open();
    await stream.event();
    permitted = { resourceSubscriptions: ['b'] };
    expect(await session.ask('resources/subscribe', { uri: 'a' })).toMatchObject({ result: {} });
    for (const uri of ['a', 'b']) await server.notify.resourceUpdated(uri);
    expect(await nextMessage(stream)).toEqual(change('b'));
  });

  test('that answers with no filter is a 503', async () => {
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
