import * as client from 'mcp-listen/client/slim';
import clientModule from 'mcp-listen/client/wasm';
import * as server from 'mcp-listen/slim';
import module from 'mcp-listen/wasm';
import { scenario } from '../scenario.mjs';

server.init(module);
client.init(clientModule);

/** The client of a Worker without a bus, in the isolate that responds to it. */
export default {
  async fetch() {
    const { fetch, notify } = server.createListenHandler(
      () => new Response(null, { status: 404 }),
      {
        server: {
          info: { name: 'tests', version: '1.0.0' },
          capabilities: { tools: { listChanged: true } },
        },
      },
    );
    const respond = async (request) => {
      if (!request.url.endsWith('/publish')) return fetch(request);
      await notify.toolsChanged();
      return new Response(null, { status: 204 });
    };
    return new Response(await scenario(client, 'http://localhost', respond));
  },
};
