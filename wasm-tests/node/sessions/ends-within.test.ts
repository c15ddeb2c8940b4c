import { brokerBus, InMemoryBus } from 'mcp-listen';
import { expect, test, vi } from 'vitest';
import { LegacySession } from '../../host/legacy.ts';
import { LoopBroker } from '../bus/loop-broker.ts';
import { sessionServer, sessionStream } from './serving.ts';

// A bus in this process replies within the call that opens a connection: the stream, its connection
// and its core may have ended when that call returns. An error that nothing catches fails the run.

test.each(['is ended by its client', 'is resumed'])(
  'a session that %s while its stream connects again after a gap ends that stream alone',
  async (how) => {
    vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] });
    const broker = new LoopBroker();
    const bus = brokerBus(broker, { onError: () => {} });
    const onError = vi.fn();
    const { send, server } = sessionServer({ bus, onError });
    const { session, stream } = await sessionStream(send, {});
    const other = await sessionStream(send, {});
    broker.listener?.onGap();
    if (how === 'is resumed') await session.open('unknown');
    else await session.end();
    await vi.advanceTimersByTimeAsync(3_000);
    vi.useRealTimers();
    expect(await ended(stream)).toBe(true);
    await bus.publish({ kind: 'tools_list_changed' });
    expect(await other.stream.event()).toContain('notifications/');
    expect(server.stats().open).toBe(how === 'is resumed' ? 2 : 1);
    expect(onError).not.toHaveBeenCalled();
    await server.close();
    await bus.close();
  },
);

test('a session that ends while its stream is authorized refuses it, and nothing else', async () => {
  const onError = vi.fn();
  let end: (() => Promise<unknown>) | undefined;
  const { send, server } = sessionServer({
    onError,
    authorize: async ({ requested }) => {
      await end?.();
      return requested;
    },
  });
  const session = await LegacySession.begin(send);
  end = () => session.end();
  expect((await session.get()).status).toBe(503);
  expect(onError.mock.calls).toEqual([[expect.objectContaining({ code: 'bus-released' })]]);
  expect(server.stats().open).toBe(0);
});

test('a stream whose renewed authorization is denied beside an event ends once', async () => {
  for (let steps = 0; steps < 20; steps += 1) {
    vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] });
    const bus = new InMemoryBus();
    const onError = vi.fn();
    let renew: ((verdict: { denied: 403 }) => void) | undefined;
    const { send, server } = sessionServer({
      bus,
      onError,
      authorizationTtlMs: 100,
      authorize: ({ requested, isOpen }) =>
        isOpen
          ? new Promise<{ denied: 403 }>((resolve) => {
              renew = resolve;
            })
          : requested,
    });
    const { stream } = await sessionStream(send, {});
    const end = ended(stream);
    await vi.advanceTimersByTimeAsync(150);
    await bus.publish({ kind: 'tools_list_changed' });
    await vi.advanceTimersByTimeAsync(50);
    expect(renew).toBeDefined();
    renew?.({ denied: 403 });
    for (let step = 0; step < steps; step += 1) await null;
    await bus.publish({ kind: 'tools_list_changed' });
    expect(await end).toBe(true);
    expect(server.stats().ended).toMatchObject({ denied: 1 });
    expect(onError).not.toHaveBeenCalled();
    vi.useRealTimers();
  }
});

/** Reads a stream to its end, and resolves with true. */
async function ended(stream: { event(): Promise<unknown> }): Promise<boolean> {
  while ((await stream.event()) !== undefined);
  return true;
}
