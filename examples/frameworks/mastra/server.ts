// An MCP server of Mastra; `node server.ts` starts it. A gateway in front of it listens to it, on
// behalf of all clients.
import { createServer } from 'node:http';
import { createTool } from '@mastra/core/tools';
import { MCPServer } from '@mastra/mcp';
import { z } from 'zod';

let isOn = false;

const lamp = new MCPServer({
  id: 'lamp',
  name: 'lamp',
  version: '1.0.0',
  resources: {
    listResources: async () => [{ uri: 'lamp://desk', name: 'desk' }],
    getResourceContent: async () => ({ text: isOn ? 'on' : 'off' }),
  },
  tools: {
    switch: createTool({
      id: 'switch',
      description: 'Switches the lamp',
      inputSchema: z.object({}),
      execute: async () => {
        isOn = !isOn;
        await lamp.resources.notifyUpdated({ uri: 'lamp://desk' });
        return 'Switched.';
      },
    }),
  },
});

createServer((req, res) => {
  const url = new URL(req.url ?? '/', 'http://127.0.0.1');
  void lamp.startHTTP({ url, httpPath: '/mcp', req, res });
}).listen(Number(process.env.PORT ?? 8000), '127.0.0.1');
