import { type McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import type { Fetch } from '../host/node-http.ts';
import { Events } from './events.ts';

type Transport = WebStandardStreamableHTTPServerTransport;

/** Serves 2025-11-25 with sessions that live in this process, by the transport of the official SDK. */
export function sessionHandler(newServer: () => McpServer): Fetch {
  const sessions = new Map<string, Transport>();
  return async (request) => {
    const id = request.headers.get('mcp-session-id');
    const session = id === null ? await opened(newServer(), sessions) : sessions.get(id);
    return session === undefined ? new Response(null, { status: 404 }) : await session.handleRequest(request);
  };
}

async function opened(mcp: McpServer, sessions: Map<string, Transport>): Promise<Transport> {
  const transport = new WebStandardStreamableHTTPServerTransport({
    eventStore: new Events(),
    retryInterval: 100,
    sessionIdGenerator: () => crypto.randomUUID(),
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => void sessions.delete(id),
  });
  mcp.server.setRequestHandler('resources/subscribe', () => ({}));
  mcp.server.setRequestHandler('resources/unsubscribe', () => ({}));
  await mcp.connect(transport);
  return transport;
}
