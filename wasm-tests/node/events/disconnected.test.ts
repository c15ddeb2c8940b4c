import { createListenHandler, InMemoryBus } from 'mcp-listen';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { expect, test, vi } from 'vitest';
import { discovering, requestOf } from './requests.ts';

/** A server whose functions and log fail once its client has left. */
function leaving() {
  const onError = vi.fn();
  const abort = new AbortController();
  const fail = (): never => {
    abort.abort();
    throw new Error('the client has left');
  };
  const bus = new InMemoryBus({ events: eventLog() });
  const authorize = vi.fn(() => true);
  const server = createListenHandler(discovering, {
    bus,
    events: defineEvents({ 'order.paid': {} }, { authorize }),
    onError,
  });
  const page = vi.spyOn(bus.events as NonNullable<typeof bus.events>, 'page');
  const ask = (method: string) => {
    const request = requestOf(method, { name: 'order.paid' }, 1);
    return server.fetch(new Request(request, { signal: abort.signal }));
  };
  return { ask, authorize, fail, onError, page };
}

test.each(['events/stream', 'events/poll'])(
  'a client that leaves %s while the log is read is not an error',
  async (method) => {
    const { ask, fail, onError, page } = leaving();
    page.mockImplementation(async () => fail());
    await ask(method);
    expect(page).toHaveBeenCalledOnce();
    expect(onError).not.toHaveBeenCalled();
  },
);

test('a client that leaves while it is authorized is not an error', async () => {
  const { ask, authorize, fail, onError } = leaving();
  authorize.mockImplementation(fail);
  await ask('events/stream');
  expect(authorize).toHaveBeenCalled();
  expect(onError).not.toHaveBeenCalled();
});
