/** How a server of {@link brokenServer} deviates from the specification. */
export type Fault =
  | 'no acknowledgment'
  | 'a change before the acknowledgment'
  | 'ids as texts'
  | 'notifications without id'
  | 'more than requested'
  | 'no keep-alives'
  | 'streams that end'
  | 'no result at the end'
  | 'every version'
  | 'refusals in HTML'
  | 'malformed requests without a response'
  | 'one stream only'
  | 'a second stream refused'
  | 'no notifications announced'
  | 'resources without subscriptions'
  | 'no changes'
  | 'no changes but one at the start'
  | 'changes for everyone'
  | 'no initialize'
  | 'resources/subscribe refused'
  | 'a place that a session keeps forever'
  | 'sessions lost'
  | 'unknown sessions get 400';

/** A small server of both revisions, with one deliberate fault. */
export function brokenServer(fault?: Fault): (request: Request) => Promise<Response> {
  const open = new Set<Listener>();
  let requests = 0;
  let gets = 0;
  const isKnown = (session: string | null): boolean => {
    requests += 1;
    const isLost = fault === 'sessions lost' && session !== null && requests % 2 === 0;
    return !isLost && (session === null || session === SESSION);
  };
  const sessionStream = (): Response => {
    gets += 1;
    const isTaken = fault === 'a place that a session keeps forever' && gets > 1;
    return isTaken ? new Response(null, { status: 409 }) : streamOf(open, {}, fault);
  };
  return async (request) => {
    if (!isKnown(request.headers.get('mcp-session-id')))
      return new Response(null, { status: fault === 'unknown sessions get 400' ? 400 : 404 });
    if (request.method === 'GET') return sessionStream();
    if (request.method === 'DELETE') return new Response(null, { status: 204 });
    const message = (await request.json()) as Asked;
    if (message.method === 'tools/call') publish(open, fault);
    if (message.method === 'subscriptions/listen') return listened(open, message, fault);
    return responseTo(message, fault);
  };
}

interface Asked {
  id?: string | number;
  method: string;
  params?: { _meta?: Record<string, unknown>; notifications?: unknown };
}

/** An open stream: a listen request with its filter, or a session without an id. */
interface Listener {
  id: string | number | undefined;
  filter: Record<string, unknown> | undefined;
  send(text: string): void;
  end(): void;
}

async function listened(
  open: Set<Listener>,
  { id = 0, params }: Asked,
  fault?: Fault,
): Promise<Response> {
  const version = params?._meta?.['io.modelcontextprotocol/protocolVersion'];
  const filter = params?.notifications;
  if (version !== '2026-07-28' && fault !== 'every version')
    return refused(id, { code: -32022, message: 'version', data: { supported: ['2026-07-28'] } });
  if (typeof filter !== 'object' || filter === null) {
    if (fault === 'malformed requests without a response') await new Promise(() => {});
    if (fault !== 'refusals in HTML') return refused(id, { code: -32602, message: 'filter' });
    const html = { status: 500, headers: { 'content-type': 'text/html' } };
    return new Response('<h1>Internal error</h1>', html);
  }
  if (fault !== undefined && open.size >= (MOST[fault] ?? Number.POSITIVE_INFINITY))
    return refused(id, { code: -32000, message: '' });
  return streamOf(open, { id, filter: filter as Record<string, unknown> }, fault);
}

function streamOf(
  open: Set<Listener>,
  { id, filter }: { id?: string | number; filter?: Record<string, unknown> },
  fault?: Fault,
): Response {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const send = (text: string) =>
    void writer.write(new TextEncoder().encode(text)).catch(() => clearInterval(timer));
  const timer = setInterval(() => fault !== 'no keep-alives' && send(': keep-alive\n\n'), 100);
  const end = () => void writer.close().catch(() => {});
  const listener: Listener = { id, filter, send, end };
  const leave = () => {
    clearInterval(timer);
    // The fault: the place of a client that left stays taken.
    if (fault !== 'one stream only') open.delete(listener);
  };
  writer.closed.catch(() => {}).finally(leave);
  send('id: 1\ndata:\n\n');
  if (filter !== undefined) acknowledge(listener, fault);
  if (fault === 'no changes but one at the start') send(changed(id));
  if (filter !== undefined && Object.keys(filter).length === 0) {
    if (fault !== 'no result at the end') send(event({ id, result: {} }));
    end();
  } else {
    open.add(listener);
  }
  return new Response(readable, { headers: { 'content-type': 'text/event-stream' } });
}

function acknowledge(listener: Listener, fault?: Fault): void {
  const { filter, id } = listener;
  if (fault === 'no acknowledgment') return;
  if (fault === 'a change before the acknowledgment') listener.send(changed(id));
  const sentId = fault === 'ids as texts' ? String(id) : id;
  const notifications = fault === 'more than requested' ? { ...ALL, ...filter } : filter;
  listener.send(event(notification('subscriptions/acknowledged', sentId, { notifications })));
}

function publish(open: Set<Listener>, fault?: Fault): void {
  if (fault?.startsWith('no changes')) return;
  const isForAll = fault === 'more than requested' || fault === 'changes for everyone';
  for (const { filter, id, send } of open) {
    if (filter !== undefined && !filter['toolsListChanged'] && !isForAll) continue;
    send(changed(fault === 'notifications without id' ? undefined : id));
  }
  if (fault === 'streams that end') for (const { end } of open) end();
}

function responseTo({ id, method }: Asked, fault?: Fault): Response {
  if (id === undefined) return new Response(null, { status: 202 });
  if (fault !== undefined && REFUSED[fault] === method)
    return refused(id, { code: -32601, message: 'no such method' });
  const headers = { 'mcp-session-id': SESSION };
  const declared = fault === undefined ? undefined : DECLARED[fault];
  const result = { ...RESULTS[method], ...(declared && { capabilities: declared }) };
  return Response.json({ jsonrpc: '2.0', id, result }, method === 'initialize' ? { headers } : {});
}

function refused(id: string | number, error: object): Response {
  return Response.json({ jsonrpc: '2.0', id, error }, { status: 400 });
}

function changed(id: string | number | undefined): string {
  return event(notification('tools/list_changed', id, {}));
}

function notification(method: string, id: string | number | undefined, params: object) {
  const _meta = { 'io.modelcontextprotocol/subscriptionId': id };
  return { method: `notifications/${method}`, params: { _meta, ...params } };
}

function event(message: object): string {
  return `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
}

const SESSION = 'the-session';
const ALL = { toolsListChanged: true, promptsListChanged: true };
const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true },
};
/** The capabilities that a fault declares instead. */
const DECLARED: Partial<Record<Fault, object>> = {
  'no notifications announced': {},
  'resources without subscriptions': { ...CAPABILITIES, resources: { listChanged: true } },
};
/** The number of open streams beyond which a fault refuses one. */
const MOST: Partial<Record<Fault, number>> = { 'one stream only': 2, 'a second stream refused': 1 };
/** The method that a fault refuses. */
const REFUSED: Partial<Record<Fault, string>> = {
  'no initialize': 'initialize',
  'resources/subscribe refused': 'resources/subscribe',
};
const RESULTS: Record<string, object> = {
  'server/discover': { supportedVersions: ['2026-07-28'], capabilities: CAPABILITIES },
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: CAPABILITIES,
    serverInfo: { name: 'broken', version: '1' },
  },
  'resources/list': { resources: [{ uri: 'lamp://desk', name: 'lamp' }] },
};
