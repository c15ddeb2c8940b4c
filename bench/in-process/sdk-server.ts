import { createMcpHandler } from '@modelcontextprotocol/server';
import { sdkFactory } from '../sdk-factory.ts';
import { KEEP_ALIVE_MS, MANY_STREAMS, type Server } from './server.ts';

/** The official SDK: `createMcpHandler` on its bus in memory, published to through `notify`. */
export function sdkServer(): Server {
  const options = { keepAliveMs: KEEP_ALIVE_MS, maxSubscriptions: MANY_STREAMS };
  const { fetch, notify } = createMcpHandler(sdkFactory, options);
  return { fetch, publish: (uri) => notify.resourceUpdated(uri) };
}
