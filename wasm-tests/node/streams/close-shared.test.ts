import { expect, onTestFinished, test, vi } from 'vitest';
import { listChanged } from '../../host/listen.ts';
import { BreakableBus } from '../bus/breakable-bus.ts';
import { open, RESULT, serving, TOOLS } from '../serving.ts';

test('a stream on a separate connection receives its replay while its server closes', async () => {
  // A full bus is retried after any time up to half a minute.
  vi.spyOn(Math, 'random').mockReturnValue(0.01);
  onTestFinished(() => void vi.restoreAllMocks());
  const { bus, server, streams } = await opened(2);
  // After the third refusal in a row each stream gets a separate connection.
  bus.availability = 'silent';
  for (let count = 0; count < 3; count += 1) {
    bus.lose('full');
    await expect.poll(() => bus.sockets.length).toBeGreaterThan(count + 1);
  }
  bus.availability = 'open';
  await server.notify.toolsChanged();
  const closed = server.close();
  for (const stream of streams) {
    const messages: (string | undefined)[] = [];
    while (messages.at(-1) !== RESULT) messages.push(await stream.message());
    expect(messages).toContain(listChanged('1', 'tools'));
  }
  await closed;
});

test('a drain delivers what is on its way, and ends the stream without a result', async () => {
  const { bus, server, streams } = await opened(1);
  bus.muted = 1;
  await server.notify.toolsChanged();
  const drained = server.drain({ windowMs: 0 });
  expect([await streams[0]?.message(), await streams[0]?.message()]).toEqual([
    listChanged('1', 'tools'),
    undefined,
  ]);
  await drained;
});

test('a drain waits three seconds for a bus that does not reply', async () => {
  const { bus, server, streams } = await opened(1);
  bus.small.fallSilent();
  const began = performance.now();
  await server.drain({ windowMs: 0 });
  expect(await streams[0]?.message()).toBeUndefined();
  expect(performance.now() - began).toBeGreaterThanOrEqual(3_000);
  // Five seconds after its window it would abort the stream.
  expect(server.stats().ended).toMatchObject({ drained: 1, aborted: 0 });
});

test.each(['each', 'shared'] as const)(
  'with sockets: %s, streams settle with the bus before a drain ends them',
  async (sockets) => {
    const { bus, server, streams } = await opened(2, sockets);
    bus.muted = 2;
    await server.notify.toolsChanged();
    const drained = server.drain({ windowMs: 0 });
    for (const stream of streams) {
      expect(await stream.message()).toBe(listChanged('1', 'tools'));
      expect(await stream.message()).toBeUndefined();
    }
    await drained;
    expect(server.stats().ended).toMatchObject({ drained: 2, aborted: 0 });
  },
);

/** `count` acknowledged streams on a bus that a test can break. */
async function opened(count: number, sockets: 'each' | 'shared' = 'shared') {
  const bus = new BreakableBus(sockets);
  const server = serving({ bus });
  const streams = await Promise.all(Array.from({ length: count }, () => open(server, TOOLS)));
  for (const stream of streams) expect(await stream.message()).toContain('acknowledged');
  return { bus, server, streams };
}
