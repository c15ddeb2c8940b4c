import { startWorkerd } from '../../scripts/workerd/workerd.mjs';

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
): Promise<{ url: string; stop: () => Promise<void> }> {
  const durableObjects = [
    { binding: 'MCP_BUS', className: 'SubscriptionBus' },
    { binding: 'SDK_SESSIONS', className: 'SdkSessions' },
    { binding: 'TASKS', className: 'TaskServer' },
  ];
  const text = { ...(sockets === 'auto' ? {} : { SOCKETS: sockets }), UPSTREAM: upstream };
  const { url = '', stop } = await startWorkerd({
    bundle,
    durableObjects,
    edges: 2,
    port: 0,
    text,
  });
  return { url, stop };
}
