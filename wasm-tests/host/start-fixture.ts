import { startWorkerd, type Workerd, type WorkerdOptions } from '../../scripts/workerd/workerd.mjs';
import { bundled } from './bundle.ts';

/**
 * How the streams of the fixture reach the bus where a test does not say it: as users get it, or
 * each on a socket of its own.
 */
export const SOCKETS = (process.env['SOCKETS'] ?? 'auto') as 'auto' | 'each';

/** What of the fixture is to be otherwise. */
type FixtureOptions = Omit<WorkerdOptions, 'bundle'> & { bundle?: string | undefined };

/** Starts the Worker of the fixture; without a `bundle`, of its own. */
export async function startFixture({ bundle, text, ...options }: FixtureOptions): Promise<Workerd> {
  const sockets = SOCKETS === 'auto' ? {} : { SOCKETS };
  return startWorkerd({
    bundle: bundle ?? (await bundled('wasm-tests/workerd/fixture')),
    durableObjects: [{ binding: 'MCP_BUS', className: 'ObservedBus' }],
    // Tests have objects hibernate at once, and requests stall.
    ...{ compatibilityFlags: ['nodejs_als', 'unsafe_module'], isExperimental: true },
    // workerd notices that a client has gone when it next writes: keep-alives are frequent here. So
    // are shards that close.
    text: { KEEP_ALIVE_MS: '500', SHARD_CLOSE_MS: '500', ...sockets, ...text },
    ...options,
  });
}
