import { createServer, type ServerResponse } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { portOf } from '../../host/port.ts';

/**
 * A server of version 1 of the SDK, which speaks 2025-11-25 alone; its tool `touch` changes the
 * list of tools, of which it notifies every session. `allowedOrigin`: of pages that may use it.
 */
export async function sessionServer2025(allowedOrigin?: string) {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const servers: McpServer[] = [];
  const touch = () => {
    for (const server of servers) server.sendToolListChanged();
  };
  const http = createServer(async (request, response) => {
    if (allowedOrigin !== undefined) allow(response, allowedOrigin);
    if (request.method === 'OPTIONS') return void response.writeHead(204).end();
    const id = String(request.headers['mcp-session-id'] ?? '');
    const known = sessions.get(id);
    if (known !== undefined) return known.handleRequest(request, response);
    if (id !== '') return void response.writeHead(404).end();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (fresh) => void sessions.set(fresh, transport),
    });
    const server = serverOf(touch);
    servers.push(server);
    await server.connect(transport);
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

function serverOf(touch: () => void): McpServer {
  const server = new McpServer({ name: 'of-2025', version: '1' });
  server.registerTool('touch', {}, () => {
    touch();
    return { content: [] };
  });
  return server;
}

/** Allows pages of an origin to use the server, and to read the id of their session (CORS). */
function allow(response: ServerResponse, origin: string): void {
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('access-control-allow-methods', 'GET, POST, DELETE');
  response.setHeader('access-control-allow-headers', '*');
  response.setHeader('access-control-expose-headers', 'mcp-session-id');
}
