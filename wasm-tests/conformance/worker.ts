import { startWorkerd } from '../../scripts/workerd/workerd.mjs';
import type { Served } from './late.ts';

/** How the streams of an isolate reach the bus. */
export type Sockets = 'auto' | 'each';

/**
 * The upstream server: the stateless handler of the official SDK, that handler with sessions of
 * 2025 in one Durable Object, or the handler with tasks in another one.
 */
export type Upstream = 'stateless' | 'sessions' | 'tasks';

/**
 * Serves a bundle on workerd: two isolates that take the requests in turn, and a bus that has never
 * run.
 */
export async function serveBundle(
  bundle: string,
  sockets: Sockets = 'auto',
  upstream: Upstream = 'stateless',
): Promise<Served> {
  const durableObjects = [
    { binding: 'MCP_BUS', className: 'SubscriptionBus' },
    { binding: 'SDK_SESSIONS', className: 'SdkSessions' },
    { binding: 'TASKS', className: 'TaskServer' },
  ];
  const text = { ...(sockets === 'auto' ? {} : { SOCKETS: sockets }), UPSTREAM: upstream };
  const options = { bundle, durableObjects, edges: 2, port: 0, text };
  const { url = '', pid, stop } = await startWorkerd(options);
  return { url, pid, stop };
}
