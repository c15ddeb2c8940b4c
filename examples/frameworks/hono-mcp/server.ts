// An MCP server of @hono/mcp on Node. `TOKENS='{"a-secret":"ann"}' node server.ts` starts it, and
// serves callers with one of these tokens. Its clients speak 2025-11-25, and have their sessions
// and streams here.
import { StreamableHTTPTransport } from '@hono/mcp';
import { serve } from '@hono/node-server';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { Hono } from 'hono';
import { bearerAuth } from 'hono/bearer-auth';
import { InMemoryBus, publishChanges } from 'mcp-listen';
import { listenMiddleware } from 'mcp-listen/hono';

/** What the middleware knows about a caller. */
interface Caller {
  Variables: { user: string | undefined };
}

/** Users by token. */
const users = new Map<string, string>(Object.entries(JSON.parse(process.env.TOKENS ?? '{}')));
let isOn = false;

function lampServer(): McpServer {
  const server = new McpServer({ name: 'lamp', version: '1.0.0' });
  server.registerResource('desk', 'lamp://desk', { description: 'The lamp on the desk' }, () => ({
    contents: [{ uri: 'lamp://desk', text: isOn ? 'on' : 'off' }],
  }));
  server.registerTool('switch', { description: 'Switches the lamp' }, async () => {
    isOn = !isOn;
    await server.server.sendResourceUpdated({ uri: 'lamp://desk' });
    return { content: [{ type: 'text', text: 'Switched.' }] };
  });
  return server;
}

const bus = new InMemoryBus();
const createServer = publishChanges(lampServer, bus);

// A server and a transport for each request: neither keeps a session.
const lamp = new Hono().all('*', async (c) => {
  const transport = new StreamableHTTPTransport();
  const server = await createServer();
  await server.connect(transport);
  return transport.handleRequest(c);
});

const mcp = listenMiddleware<Caller>((request) => lamp.fetch(request), {
  bus,
  advertise: 'all',
  legacy: 'sessions',
  principal: (c) => c.get('user'),
});

// Finds the user of a token. A session is used by the caller that began it, and by no other.
const authenticate = bearerAuth<Caller>({
  verifyToken: (token, c) => {
    c.set('user', users.get(token));
    return users.has(token);
  },
});

const app = new Hono<Caller>().use('/mcp', authenticate).all('/mcp', mcp);
serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 8000), hostname: '127.0.0.1' });
