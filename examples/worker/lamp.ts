import { McpServer } from '@modelcontextprotocol/server';

/** An MCP server with one resource that can be watched, and one tool that changes it. */
export function lampServer(changed: () => Promise<void>): McpServer {
  const server = new McpServer(
    { name: 'lamp', version: '1.0.0' },
    { capabilities: { resources: { subscribe: true } } },
  );
  server.registerResource('desk', 'lamp://desk', { description: 'The lamp on the desk' }, () => ({
    contents: [{ uri: 'lamp://desk', text: 'A lamp knows only that it was switched.' }],
  }));
  server.registerTool('switch', { description: 'Switches the lamp' }, async () => {
    await changed();
    return { content: [{ type: 'text', text: 'Switched.' }] };
  });
  return server;
}
