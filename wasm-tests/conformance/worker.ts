import { startWorkerd } from '../../scripts/workerd.mjs';

/** Serves a bundle on workerd: two isolates that take the requests in turn, and a bus that has never run. */
export async function serveBundle(bundle: string): Promise<{ url: string; stop: () => Promise<void> }> {
  const durableObjects = [{ binding: 'MCP_BUS', className: 'SubscriptionBus' }];
  const { url = '', stop } = await startWorkerd({ bundle, durableObjects, edges: 2, port: 0 });
  return { url, stop };
}
