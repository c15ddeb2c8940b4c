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

test('a stream whose caller is disconnected while it opens is refused, or ends', async () => {
  const bus = new InMemoryBus({ events: eventLog() });
  const onError = vi.fn();
  const server = createListenHandler(discovering, {
    bus,
    events: defineEvents({ 'order.paid': {} }),
    principal: (request) => request.headers.get('x-caller') ?? undefined,
    onError,
  });
  const states = await Promise.all(
    Array.from({ length: 200 }, async (_, steps) => {
      const request = requestOf('events/stream', { name: 'order.paid' }, 1);
      request.headers.set('x-caller', `caller ${steps}`);
      const opening = server.fetch(request);
      for (let step = 0; step < steps; step += 1) await null;
      await bus.publish({ kind: 'disconnect', principal: `caller ${steps}` });
      const response = await opening;
      if (response.status === 503) return 'refused';
      return stateOf(response);
    }),
  );
  // A stream that opens after the disconnection is a new one.
  expect(new Set(states)).toEqual(new Set(['open after its first event', 'refused', 'ended']));
  expect(server.stats().open).toBe(states.filter((state) => state.startsWith('open')).length);
  expect(onError.mock.calls.filter(([{ code }]) => code !== 'bus-lost')).toEqual([]);
});

/** Whether a stream ends within 300 ms, and otherwise whether it has written something. */
async function stateOf(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  for (let bytes = 0; ; ) {
    const late = new Promise<undefined>((resolve) => setTimeout(resolve, 300));
    const read = await Promise.race([reader?.read(), late]);
    if (read === undefined) return `open after ${bytes > 0 ? 'its first event' : 'nothing'}`;
    if (read.done) return 'ended';
    bytes += read.value.length;
  }
}
