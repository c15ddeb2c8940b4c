import { env } from 'cloudflare:workers';
import { serveListen } from 'mcp-listen';
import { durableObjectBus } from 'mcp-listen/cloudflare';

export { SubscriptionBus } from 'mcp-listen/cloudflare';

const server = serveListen(() => new Response(null, { status: 404 }), {
  bus: durableObjectBus(env.MCP_BUS),
  capabilities: { tools: { listChanged: true } },
});

export default {
  async fetch(request) {
    if (new URL(request.url).pathname !== '/publish') return server.fetch(request);
    await server.notify.toolsChanged();
    return new Response(null, { status: 204 });
  },
};
