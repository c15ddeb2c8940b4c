import { createListenHandler } from 'mcp-listen';
import { type ClosableServer, KEEP_ALIVE_MS, MANY_STREAMS } from './server.ts';
import { CAPABILITIES, SERVER_INFO } from './server-info.ts';

/** mcp-listen as users run it: `createListenHandler` on `InMemoryBus`; publishes by `notify`. */
export function listenServer(): ClosableServer {
  const { close, fetch, notify } = createListenHandler(() => new Response(null, { status: 404 }), {
    server: { info: SERVER_INFO, capabilities: CAPABILITIES },
    keepAliveMs: KEEP_ALIVE_MS,
    // 10,000 streams with 16 resources each exceed the default budget of names.
    limits: { maxSubscriptions: MANY_STREAMS, namesBytes: 2 ** 30 },
  });
  return { close, fetch, publish: (uri) => notify.resourceUpdated(uri) };
}
