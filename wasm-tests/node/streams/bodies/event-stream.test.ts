import { createListenHandler, InMemoryBus } from 'mcp-listen';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { host } from '../../../../dist/model/host-profile.js';
import { EventReader } from '../../../host/events.ts';
import { discovering, requestOf } from '../../events/requests.ts';

test('a refused write to a stream of events is made by its own request', async () => {
  const { fansOut } = host;
  host.fansOut = false;
  const enqueue = vi.spyOn(ReadableStreamDefaultController.prototype, 'enqueue');
  onTestFinished(() => {
    host.fansOut = fansOut;
    enqueue.mockRestore();
  });
  const server = createListenHandler(discovering, {
    bus: new InMemoryBus({ events: eventLog() }),
    events: defineEvents({ paid: {} }),
  });
  const reader = new EventReader(
    await server.fetch(requestOf('events/stream', { name: 'paid' }, 1)),
  );
  expect(await reader.next()).toMatchObject({ method: 'notifications/events/active' });
  enqueue.mockImplementationOnce(() => {
    throw new Error('of another request');
  });
  for (const amount of [1, 2]) {
    await server.notify.event('paid', { amount });
    expect(await reader.next()).toMatchObject({ params: { data: { amount } } });
  }
  expect(server.stats()).toMatchObject({ open: 1 });
  await server.close();
});
