import { env } from 'cloudflare:workers';
import { createListenHandler } from 'mcp-listen';
import * as client from 'mcp-listen/client';
import { durableObjectBus } from 'mcp-listen/cloudflare';
import { scenario } from './scenario.mjs';

export { SubscriptionBus } from 'mcp-listen/cloudflare';

const server = createListenHandler(() => new Response(null, { status: 404 }), {
  bus: durableObjectBus(env.MCP_BUS),
  server: {
    info: { name: 'tests', version: '1.0.0' },
    capabilities: { tools: { listChanged: true } },
  },
});

async function respond(request) {
  const { pathname, origin } = new URL(request.url);
  if (pathname === '/listened') return new Response(await scenario(client, origin, respond));
  if (pathname === '/page')
    return new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } });
  if (pathname !== '/publish') return server.fetch(request);
  await server.notify.toolsChanged();
  return new Response(null, { status: 204 });
}

export default { fetch: respond };
