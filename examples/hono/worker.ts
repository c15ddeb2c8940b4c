import { env } from 'cloudflare:workers';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { Hono } from 'hono';
import { publishChanges } from 'mcp-listen';
import { durableObjectBus } from 'mcp-listen/cloudflare';
import { listenMiddleware } from 'mcp-listen/hono';

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

type App = { Variables: { user: string | undefined } };

const bus = durableObjectBus(env.MCP_BUS);
const mcp = listenMiddleware<App>(createMcpHandler(publishChanges(lampServer, bus)), {
  bus,
  principal: (context) => context.get('user'),
});

const app = new Hono<App>();
// Replace this with your login: it trusts any name that the caller sends.
app.use('/mcp', async (context, next) => {
  context.set('user', context.req.header('x-user'));
  await next();
});
app.get('/', (context) => context.text('The lamp is at /mcp.'));
app.all('/mcp', mcp);

export default app;
