import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { type ListenBus, publishChanges } from 'mcp-listen';
import { type RouteListenOptions, routeListenRequest } from 'mcp-listen/cloudflare';

export { SubscriptionBus } from 'mcp-listen/cloudflare';

const TENANTS = ['acme', 'globex'];

/** The server of one tenant. What it publishes reaches only the clients of that tenant. */
function lampsOf(tenant: string, bus: ListenBus) {
  const uri = `lamp://${tenant}/desk`;
  const factory = publishChanges(() => {
    const server = new McpServer(
      { name: `lamps of ${tenant}`, version: '1.0.0' },
      { capabilities: { resources: { subscribe: true } } },
    );
    server.registerResource('desk', uri, { description: 'The lamp on the desk' }, () => ({
      contents: [{ uri, text: `A lamp of ${tenant} does not know whether it is on.` }],
    }));
    server.registerTool('switch', { description: 'Switches the lamp' }, async () => {
      await server.server.sendResourceUpdated({ uri });
      return { content: [{ type: 'text', text: 'Switched.' }] };
    });
    return server;
  }, bus);
  return createMcpHandler(factory);
}

/** What the Worker passes to the handlers of the tenants, to `principal` and to `authorize`. */
type Rest = [Cloudflare.Env, ExecutionContext];

// Created once: the servers of the tenants are cached for this object.
const route: RouteListenOptions<Cloudflare.Env, Rest> = {
  binding: 'MCP_BUS',
  tenant: (request) => TENANTS.find((tenant) => new URL(request.url).pathname === `/${tenant}/mcp`),
  handler: ({ name, bus }) => {
    const mcp = lampsOf(name, bus);
    return (request) => mcp.fetch(request);
  },
  // Behind an OAuth provider, such as that of examples/oauth, `ctx.props` names the user.
  principal: (_request, _env, ctx) => (ctx.props as { user?: string } | undefined)?.user,
};

export default {
  async fetch(request, env, ctx) {
    const response = await routeListenRequest(request, env, route, env, ctx);
    return (
      response ?? new Response('The lamps are at /acme/mcp and /globex/mcp.\n', { status: 404 })
    );
  },
} satisfies ExportedHandler<Cloudflare.Env>;
