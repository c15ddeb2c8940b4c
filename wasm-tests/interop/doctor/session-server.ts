import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { portOf } from '../../host/port.ts';

/**
 * A server of version 1 of the SDK, which speaks 2025-11-25 alone; its tool `touch` changes the
 * list of tools.
 */
export async function sessionServer2025() {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const http = createServer(async (request, response) => {
    const id = String(request.headers['mcp-session-id'] ?? '');
    const known = sessions.get(id);
    if (known !== undefined) return known.handleRequest(request, response);
    if (id !== '') return void response.writeHead(404).end();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (fresh) => void sessions.set(fresh, transport),
    });
    await serverOf().connect(transport);
    await transport.handleRequest(request, response);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${portOf(http)}/mcp`,
    stop: () => {
      http.closeAllConnections();
      http.close();
    },
  };
}

function serverOf(): McpServer {
  const server = new McpServer({ name: 'of-2025', version: '1' });
  server.registerTool('touch', {}, () => {
    server.sendToolListChanged();
    return { content: [] };
  });
  return server;
}
