// An MCP server on Vercel, as app/api/mcp/route.ts. A gateway in front of it holds the streams.
import { createMcpHandler } from 'mcp-handler';
import { publish } from '../publish.ts';

// A real server has a database: the functions of a deployment share no memory.
let isOn = false;

const handler = createMcpHandler(
  (server) => {
    server.registerResource('desk', 'lamp://desk', { description: 'The lamp on the desk' }, () => ({
      contents: [{ uri: 'lamp://desk', text: isOn ? 'on' : 'off' }],
    }));
    server.registerTool('switch', { description: 'Switches the lamp' }, async () => {
      isOn = !isOn;
      await publish({ kind: 'resource_updated', uri: 'lamp://desk' });
      return { content: [{ type: 'text', text: 'Switched.' }] };
    });
  },
  // A listen that bypasses the gateway is refused at once, and not held and billed.
  { serverInfo: { name: 'lamp', version: '1.0.0' }, maxSubscriptions: 0 },
);

export { handler as GET, handler as POST };
