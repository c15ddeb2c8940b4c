import { once } from 'node:events';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { startWorkerd } from '../../../scripts/workerd/workerd.mjs';
import { bundled } from '../../host/bundle.ts';

// `npm start` serves with the same `startWorkerd`.
test('a local server listens on 127.0.0.1 and on no other address of this machine', async () => {
  const bundle = await bundled('wasm-tests/conformance/fixture');
  const durableObjects = [{ binding: 'MCP_BUS', className: 'SubscriptionBus' }];
  const workerd = await startWorkerd({ bundle, durableObjects, port: 0 });
  try {
    const urls = [workerd.url ?? '', workerd.bus, ...workerd.edges];
    expect(new Set(urls).size).toBe(4);
    for (const { hostname, port } of urls.map((url) => new URL(url))) {
      expect(hostname).toBe('127.0.0.1');
      expect(await takes('127.0.0.1', port)).toBe(true);
      for (const address of ['127.0.0.2', '::1', ...others()])
        expect([address, await takes(address, port)]).toEqual([address, false]);
    }
  } finally {
    await workerd.stop();
  }
});

/**
 * Whether a connection to `port` of `host` is taken; false where it is refused, and where this
 * machine has no such address.
 */
async function takes(host: string, port: string): Promise<boolean> {
  const socket = connect({ host, port: Number(port), timeout: 1_000 });
  socket.on('timeout', () => socket.destroy(new Error('no answer')));
  return await once(socket, 'connect')
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy());
}

/** The addresses by which other machines reach this one. */
function others(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.filter(({ internal }) => !internal).map(({ address }) => address);
}
