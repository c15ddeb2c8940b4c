import { once } from 'node:events';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { startWorkerd } from '../../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../host/bundle.ts';

// `npm start` serves with the same `startWorkerd`.
test('a local server listens on 127.0.0.1 only', async () => {
  const bundle = await bundleWorker('wasm-tests/conformance/fixture');
  const durableObjects = [{ binding: 'MCP_BUS', className: 'SubscriptionBus' }];
  const workerd = await startWorkerd({ bundle, durableObjects, port: 0 });
  try {
    const urls = [workerd.url ?? '', workerd.bus, ...workerd.edges];
    expect(new Set(urls).size).toBe(4);
    for (const { hostname, port } of urls.map((url) => new URL(url))) {
      expect(hostname).toBe('127.0.0.1');
      expect(await accepts('127.0.0.1', port)).toBe(true);
      for (const address of ['127.0.0.2', '::1', ...others()])
        expect([address, await accepts(address, port)]).toEqual([address, false]);
    }
  } finally {
    await workerd.stop();
  }
});

/** Whether `host` accepts a connection to `port`; false if this machine has no such address. */
async function accepts(host: string, port: string): Promise<boolean> {
  const socket = connect({ host, port: Number(port), timeout: 1_000 });
  socket.on('timeout', () => socket.destroy(new Error('no response')));
  return await once(socket, 'connect')
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy());
}

/** The addresses of this machine that other machines can reach. */
function others(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.filter(({ internal }) => !internal).map(({ address }) => address);
}
