import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { createListenHandler, type ListenHandler, type ListenHandlerOptions } from 'mcp-listen';
import { z } from 'zod';
import { type NodeServer, serveOnNode } from '../host/node-http.ts';

/** An MCP server of another origin. */
export interface Elsewhere extends NodeServer {
  server: ListenHandler;
}

/**
 * Serves an MCP server on Node, to pages of any origin. `accepts`: the only token that it accepts,
 * or whether it accepts one; `more`: further capabilities that it announces; `also`: serves other
 * requests.
 */
export async function serveElsewhere(
  accepts?: string | ((token: string) => boolean),
  options: ListenHandlerOptions = {},
  more = {},
  also: (request: Request) => Promise<Response | undefined> = async () => undefined,
): Promise<Elsewhere> {
  const handler = createMcpHandler(() => lamp(more));
  const isAllowed = (request: Request) => {
    const token = request.headers.get('authorization')?.replace('Bearer ', '') ?? '';
    return typeof accepts === 'function'
      ? accepts(token)
      : accepts === undefined || accepts === token;
  };
  const guarded = {
    fetch: async (request: Request) =>
      isAllowed(request) ? handler.fetch(request) : new Response(null, { status: 401 }),
  };
  const server = createListenHandler(guarded, {
    allowedOrigins: ['*'],
    principal: (request) => (isAllowed(request) ? undefined : { denied: 401 }),
    ...options,
  });
  const fetch = async (request: Request) => (await also(request)) ?? server.fetch(request);
  return { ...(await serveOnNode(fetch)), server };
}

function lamp(more: object): McpServer {
  const capabilities = { tools: { listChanged: true }, resources: { subscribe: true }, ...more };
  const server = new McpServer(
    { name: 'lamp', title: 'A lamp', version: '3.1.4' },
    { capabilities },
  );
  server.registerTool('switch', { description: 'Turns it on or off' }, () => ({ content: [] }));
  server.registerResource('lamp', 'lamp://desk', { description: 'On or off' }, (uri) => ({
    contents: [{ uri: uri.href, text: 'on' }],
  }));
  server.registerPrompt(
    'praise',
    { description: 'Praises a color', argsSchema: z.object({ color: z.string() }) },
    ({ color }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `What a fine ${color}!` } }],
    }),
  );
  server.registerTool(
    'tint',
    { description: 'Changes the light', inputSchema: z.object(LIGHT) },
    (args) => ({ content: [{ type: 'text', text: JSON.stringify(args) }] }),
  );
  return server;
}

const LIGHT = {
  color: z.enum(['red', 'green']),
  percent: z.int().min(0).max(100).default(80),
  fades: z.boolean().optional(),
  spot: z.object({ x: z.number(), y: z.number(), isSoft: z.boolean() }).optional(),
  names: z.array(z.string()).optional(),
};
