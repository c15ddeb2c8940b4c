import { startWorkerd } from '../../scripts/workerd/workerd.mjs';

/** How the streams of an isolate reach the bus. */
export type Sockets = 'auto' | 'each';

/**
 * Serves a bundle on workerd: two isolates that take the requests in turn, and a bus that has never
 * run. With `sessions: 'object'` the upstream server keeps sessions in one Durable Object.
 */
export async function serveBundle(
  bundle: string,
  sockets: Sockets = 'auto',
  sessions: 'none' | 'object' = 'none',
): Promise<{ url: string; stop: () => Promise<void> }> {
  const durableObjects = [
    { binding: 'MCP_BUS', className: 'SubscriptionBus' },
    { binding: 'SDK_SESSIONS', className: 'SdkSessions' },
  ];
  const text = { ...(sockets === 'auto' ? {} : { SOCKETS: sockets }), SESSIONS: sessions };
  const { url = '', stop } = await startWorkerd({
    bundle,
    durableObjects,
    edges: 2,
    port: 0,
    text,
  });
  return { url, stop };
}
