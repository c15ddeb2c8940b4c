import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../bundle.ts';

/**
 * Starts a Worker that also routes requests to its bus object directly.
 *
 * @param stateDir - the disk of the objects; a temporary folder by default.
 */
export async function startRouted(stateDir?: string): Promise<Workerd> {
  return startWorkerd({
    bundle: await bundleWorker('wasm-tests/workerd/attacks/routed'),
    durableObjects: [
      { binding: 'MCP_BUS', className: 'RoutedBus' },
      { binding: 'IDLE', className: 'Idle' },
    ],
    // For a test that makes the object hibernate at once.
    ...{ compatibilityFlags: ['nodejs_compat', 'unsafe_module'], isExperimental: true },
    ...(stateDir !== undefined && { stateDir }),
  });
}

/** The calls of each method of the object by an isolate, since this was last asked. */
export async function callsOf(origin = ''): Promise<Record<string, number>> {
  return (await (await fetch(`${origin}/calls?clear`)).json()) as Record<string, number>;
}
