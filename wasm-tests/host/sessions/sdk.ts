import { randomUUID } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { WebStandardStreamableHTTPServerTransport as Transport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { SubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { serveOnNode } from '../node-http.ts';

/** Starts a server of the official SDK of 2025 with sessions, over HTTP on a free port. */
export async function sdkSessions(factory: () => McpServer | Promise<McpServer> = subscribable) {
  const sessions = new Map<string, { transport: Transport; server: McpServer }>();
  const node = await serveOnNode(async (request) => {
    const id = request.headers.get('mcp-session-id');
    const known = id === null ? undefined : sessions.get(id);
    if (known !== undefined) return known.transport.handleRequest(request);
    if (id !== null) return new Response(null, { status: 404 });
    const server = await factory();
    const transport = new Transport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (session) => void sessions.set(session, { transport, server }),
      onsessionclosed: (session) => void sessions.delete(session),
    });
    await server.connect(transport as Parameters<McpServer['connect']>[0]);
    return transport.handleRequest(request);
  });
  return {
    url: `${node.origin}/mcp`,
    stop: () => node.stop(),
    sessions: () => sessions.size,
    /** Ends all sessions without notifying their clients. */
    async forget() {
      for (const { server } of sessions.values()) await server.close();
      sessions.clear();
    },
    async update(uri: string) {
      for (const { server } of sessions.values()) await server.server.sendResourceUpdated({ uri });
    },
  };
}

/** A server whose resources can be subscribed to. */
export function subscribable(): McpServer {
  const server = new McpServer(
    { name: 'sdk', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true }, resources: { subscribe: true } } },
  );
  server.server.setRequestHandler(SubscribeRequestSchema, () => ({}));
  return server;
}
