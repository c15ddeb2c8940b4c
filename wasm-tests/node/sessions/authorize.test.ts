import type { AuthorizeContext, SubscriptionFilter } from 'mcp-listen';
import { describe, expect, test, vi } from 'vitest';
import { change, fields, LegacySession, listChange, nextMessage } from '../../host/legacy.ts';
import { refusal } from '../serving.ts';
import { sessionServer } from './serving.ts';

const ALL = { toolsListChanged: true, resourcesListChanged: true };

describe('authorize, called for each stream', () => {
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

describe('authorize, called for each subscribe,', () => {
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
    expect(await nextMessage(stream)).toEqual(change('a'));
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
    expect(await nextMessage(stream)).toEqual(change('b'));
  });
});
