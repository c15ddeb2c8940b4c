import { createMcpHandler } from '@modelcontextprotocol/server';
import { sdkFactory } from './sdk-factory.ts';
import { type ClosableServer, KEEP_ALIVE_MS, MANY_STREAMS } from './server.ts';

/** The official SDK: `createMcpHandler` on its bus in memory; publishes by `notify`. */
export function sdkServer(): ClosableServer {
  const options = { keepAliveMs: KEEP_ALIVE_MS, maxSubscriptions: MANY_STREAMS };
  const { close, fetch, notify } = createMcpHandler(sdkFactory, options);
  return { close, fetch, publish: (uri) => notify.resourceUpdated(uri) };
}
