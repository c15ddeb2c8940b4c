// An MCP server on AWS Lambda, behind an HTTP API of API Gateway. A gateway in front of it holds
// the streams.
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { Hono } from 'hono';
import { handle } from 'hono/aws-lambda';
import { publish } from '../publish.ts';

// A real server has a database: the instances of a function share no memory.
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

// A listen that bypasses the gateway is refused at once: API Gateway sends no body before its end.
const mcp = createMcpHandler(lampServer, { maxSubscriptions: 0 });

export const handler = handle(new Hono().all('/mcp', (c) => mcp.fetch(c.req.raw)));
