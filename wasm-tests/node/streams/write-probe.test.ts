import { expect, onTestFinished, test, vi } from 'vitest';
import { pass, until } from '../../host/virtual-clock.ts';
import { BreakableBus } from '../bus/breakable-bus.ts';
import { open, serving, TOOLS } from '../serving.ts';

/** What ends each write probe, with its result. */
const probes = vi.hoisted((): ((canWrite: boolean) => void)[] => []);

vi.mock('../../../dist/cloudflare/edge/write-probe.js', () => ({
  canWriteAcross: () => new Promise<boolean>((resolve) => probes.push(resolve)),
}));

test('a write probe that never ends, because its request was dropped, is repeated', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const bus = new BreakableBus('auto');
  const server = serving({ bus, keepAliveMs: 0 });
  const streams = [await open(server, TOOLS)];
  const alone = open(server, TOOLS);
  await until(() => probes.length === 1);
  await pass(1_500);
  streams.push(await alone);
  expect(bus.sockets).toHaveLength(2);
  const sharing = open(server, TOOLS);
  await until(() => probes.length === 2);
  probes[1]?.(true);
  streams.push(await sharing, await open(server, TOOLS));
  expect([bus.sockets.length, probes.length]).toEqual([2, 2]);
  for (const stream of streams) stream.drop();
});
