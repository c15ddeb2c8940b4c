import { type McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import type { Fetch } from '../host/node-http.ts';

/** Serves 2025-11-25 with sessions that live in this process, by the transport of the official SDK. */
export function sessionHandler(newServer: () => McpServer): Fetch {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const opened = async (): Promise<WebStandardStreamableHTTPServerTransport> => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await newServer().connect(transport);
    return transport;
  };
  return async (request) => {
    const session = sessions.get(request.headers.get('mcp-session-id') ?? '');
    return await (session ?? (await opened())).handleRequest(request);
  };
}
