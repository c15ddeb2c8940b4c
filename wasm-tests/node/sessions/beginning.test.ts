import { setTimeout } from 'node:timers/promises';
import { InMemoryBus, type ListenHandler } from 'mcp-listen';
import { describe, expect, test } from 'vitest';
import { change, fields, LegacySession, listChange, nextMessage } from '../../host/legacy.ts';
import { declaring } from '../../host/options.ts';
import { PlainBus } from '../bus/plain-bus.ts';
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
    expect(await nextMessage(stream)).toEqual(change('note://a'));
    await server.notify.resourcesChanged();
    expect(await nextMessage(stream)).toEqual(listChange('resources'));
    await session.ready();
    await server.notify.toolsChanged();
    expect(await nextMessage(stream)).toEqual(listChange('tools'));
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
    expect(await nextMessage(next)).toEqual(listChange('tools'));
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
    expect(await nextMessage(stream)).toEqual(change('note://a'));
    expect(await nextMessage(stream)).toEqual(listChange('tools'));
    await server.notify.resourcesChanged();
    expect(await nextMessage(stream)).toEqual(listChange('resources'));
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
    expect(await nextMessage(again)).toEqual(listChange('tools'));
  });

  test('is resynced where the log does not reach back far enough', async () => {
    const bus = new InMemoryBus({ logEvents: 10 });
    const { send } = sessionServer({ bus, server: declaring({ tools: { listChanged: true } }) });
    const session = await LegacySession.begin(send);
    for (let count = 0; count <= 10; count += 1)
      await bus.publish({ kind: 'prompts_list_changed' });
    const stream = await session.open();
    expect(fields(await stream.event())).toEqual({ id: 'unknown', data: '' });
    expect(await nextMessage(stream)).toEqual(listChange('tools'));
  });

  test('loses nothing on a bus written for the SDK, subscribed to from the first session on', async () => {
    const bus = new PlainBus();
    const { send, server } = sessionServer({ bus });
    expect(bus.listeners.size).toBe(0);
    const session = await LegacySession.begin(send);
    expect(bus.listeners.size).toBe(1);
    await LegacySession.begin(send);
    expect(bus.listeners.size).toBe(1);
    await server.notify.toolsChanged();
    const stream = await session.open();
    await stream.event();
    expect(await nextMessage(stream)).toEqual(listChange('tools'));
  });
});

/** Changes the resource `note://a`, then the list of tools. */
async function changeAll({ notify }: ListenHandler): Promise<void> {
  await notify.resourceUpdated('note://a');
  await notify.toolsChanged();
}
