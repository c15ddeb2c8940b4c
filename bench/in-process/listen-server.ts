import { serveListen } from 'mcp-listen';
import { CAPABILITIES, SERVER_INFO } from '../server-info.ts';
import { KEEP_ALIVE_MS, MANY_STREAMS, type Server } from './server.ts';

/** mcp-listen as its users have it: `serveListen` on its bus in memory, published to through `notify`. */
export function listenServer(): Server {
  const { fetch, notify } = serveListen(() => new Response(null, { status: 404 }), {
    capabilities: CAPABILITIES,
    serverInfo: SERVER_INFO,
    keepAliveMs: KEEP_ALIVE_MS,
    limits: { streams: MANY_STREAMS },
  });
  return { fetch, publish: (uri) => notify.resourceUpdated(uri) };
}
