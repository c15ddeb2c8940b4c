import { createListenHandler } from 'mcp-listen';
import { CAPABILITIES, SERVER_INFO } from '../../servers/server-info.ts';
import { uris } from '../uris.ts';

/** mcp-listen in one isolate, with its bus in memory, as the SDK delivers. */
const server = createListenHandler(() => new Response(null, { status: 404 }), {
  server: { info: SERVER_INFO, capabilities: CAPABILITIES },
  limits: { maxSubscriptions: 100_000 },
});

export default {
  async fetch(request: Request): Promise<Response> {
    if (new URL(request.url).pathname !== '/publish') return server.fetch(request);
    await Promise.all((await uris(request)).map((uri) => server.notify.resourceUpdated(uri)));
    return new Response();
  },
};
