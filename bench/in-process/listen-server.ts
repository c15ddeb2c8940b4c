import { createListenHandler } from 'mcp-listen';
import { CAPABILITIES, SERVER_INFO } from '../server-info.ts';
import { type ClosableServer, KEEP_ALIVE_MS, MANY_STREAMS } from './server.ts';

/**
 * mcp-listen as its users have it: `createListenHandler` on its bus in memory, published to through
 * `notify`.
 */
export function listenServer(): ClosableServer {
  const { close, fetch, notify } = createListenHandler(() => new Response(null, { status: 404 }), {
    server: { info: SERVER_INFO, capabilities: CAPABILITIES },
    keepAliveMs: KEEP_ALIVE_MS,
    // 10,000 streams with 16 resources each are more names than a process takes by default.
    limits: { maxSubscriptions: MANY_STREAMS, namesBytes: 2 ** 30 },
  });
  return { close, fetch, publish: (uri) => notify.resourceUpdated(uri) };
}
