import { randomUUID } from 'node:crypto';
import { serveOnNode } from '../node-http.ts';

/** One request to the upstream server. */
export interface Reached {
  method: string;
  /** The JSON-RPC method, if the body names one. */
  called: string | undefined;
  authorization: string | null;
  session: string | null;
  lastEvent: string | null;
}

/**
 * Starts a server of 2025 over HTTP on a free port, which keeps sessions and requires a token that
 * begins with `good-`. It reads JSON of any charset, and accepts a session id from any caller.
 */
export async function sessionKeeper() {
  const sessions = new Set<string>();
  const reached: Reached[] = [];
  const node = await serveOnNode(async (request) => {
    const { id, ...seen } = await read(request);
    reached.push(seen);
    return seen.authorization?.startsWith('Bearer good-') === true
      ? respond(seen, id)
      : unauthorized();
  });
  const keeper = {
    url: `${node.origin}/mcp`,
    /** The requests so far. */
    reached,
    /** The status of its responses to DELETE. */
    ends: 200,
    /** Whether each response to a message names a new session. */
    namesAlways: false,
    /** The ids of its sessions, the latest last. */
    ids: () => [...sessions],
    stop: () => node.stop(),
  };

  function respond(seen: Reached, id: unknown): Response {
    const { called, method, session } = seen;
    if (called === 'initialize') return begun(id);
    if (session !== null && !sessions.has(session)) return new Response(null, { status: 404 });
    return method === 'POST'
      ? echo(seen, id)
      : new Response(null, { status: method === 'DELETE' ? keeper.ends : 405 });
  }

  function echo({ called, session }: Reached, id: unknown): Response {
    const headers: Record<string, string> = keeper.namesAlways ? { 'mcp-session-id': newId() } : {};
    if (id === undefined) return new Response(null, { status: 202, headers });
    const result = called === 'server/discover' ? DISCOVERED : { called, session };
    return Response.json({ jsonrpc: '2.0', id, result }, { headers });
  }

  function begun(id: unknown): Response {
    const session = newId();
    sessions.add(session);
    return Response.json(
      { jsonrpc: '2.0', id, result: INITIALIZED },
      { headers: { 'mcp-session-id': session } },
    );
  }

  return keeper;
}

async function read(request: Request): Promise<Reached & { id: unknown }> {
  const { headers, method } = request;
  const text = await request.text();
  const { id, method: called } = JSON.parse(text || '{}') as { id?: unknown; method?: string };
  const [authorization = null, session = null, lastEvent = null] = FIELDS.map((name) =>
    headers.get(name),
  );
  return { method, called, authorization, session, lastEvent, id };
}

function unauthorized(): Response {
  return new Response(null, {
    status: 401,
    headers: { 'www-authenticate': 'Bearer realm="behind"' },
  });
}

function newId(): string {
  return `UP-${randomUUID()}`;
}

const FIELDS = ['authorization', 'mcp-session-id', 'last-event-id'];
const CAPABILITIES = { tools: {}, resources: {} };
const DISCOVERED = { supportedVersions: ['2026-07-28'], capabilities: CAPABILITIES, _meta: {} };
const INITIALIZED = {
  protocolVersion: '2025-11-25',
  capabilities: CAPABILITIES,
  serverInfo: { name: 'keeper', version: '1.0.0' },
};
