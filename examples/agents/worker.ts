import { env } from 'cloudflare:workers';
import { McpServer } from '@modelcontextprotocol/server';
import { createMcpHandler } from 'agents/mcp/server';
import { createListenHandler, publishChanges } from 'mcp-listen';
import { durableObjectBus } from 'mcp-listen/cloudflare';

export { SubscriptionBus } from 'mcp-listen/cloudflare';

function lampServer() {
  const server = new McpServer(
    { name: 'lamp', version: '1.0.0' },
    { capabilities: { resources: { subscribe: true } } },
  );
  server.registerResource('desk', 'lamp://desk', { description: 'The lamp on the desk' }, () => ({
    contents: [{ uri: 'lamp://desk', text: 'A lamp does not know whether it is on.' }],
  }));
  server.registerTool('switch', { description: 'Switches the lamp' }, async () => {
    await server.server.sendResourceUpdated({ uri: 'lamp://desk' });
    return { content: [{ type: 'text', text: 'Switched.' }] };
  });
  return server;
}

// The handler of the Agents SDK accepts no bus. Listen requests are handled here; all other
// requests are passed to it, with `env` and `ctx`.
const bus = durableObjectBus(env.MCP_BUS);
const server = createListenHandler(createMcpHandler(publishChanges(lampServer, bus)), { bus });

export default { fetch: server.fetch };
