// An MCP server as an Edge Function of Supabase, as supabase/functions/mcp/index.ts. A gateway in
// front of it holds the streams. Its deno.json maps the import of the SDK to the package of npm.
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { publish } from '../publish.ts';

// A real server has a database: the workers of a function share no memory.
let isOn = false;

function lampServer(): McpServer {
  const server = new McpServer({ name: 'lamp', version: '1.0.0' });
  server.registerResource('desk', 'lamp://desk', { description: 'The lamp on the desk' }, () => ({
    contents: [{ uri: 'lamp://desk', text: isOn ? 'on' : 'off' }],
  }));
  server.registerTool('switch', { description: 'Switches the lamp' }, async () => {
    isOn = !isOn;
    await publish({ kind: 'resource_updated', uri: 'lamp://desk' });
    return { content: [{ type: 'text', text: 'Switched.' }] };
  });
  return server;
}

// A listen that bypasses the gateway is refused at once, and not held until the host ends it.
const mcp = createMcpHandler(lampServer, { maxSubscriptions: 0 });

Deno.serve((request) => mcp.fetch(request));
