import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { acknowledged, taskNotification, taskState, updated } from '../listen.ts';
import { portOf } from '../port.ts';

/** The callers of a guarded server, by their credential, and the topics that each may receive. */
export type Rights = Record<string, { uris?: string[]; taskIds?: string[] }>;

/** Responds to a request instead of the server. Returns false to let the server respond. */
export type Trick = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  method: string,
) => boolean;

interface Filter {
  toolsListChanged?: boolean;
  resourceSubscriptions?: string[];
  taskIds?: string[];
}

interface Listener {
  id: string;
  honored: Filter;
  outgoing: ServerResponse;
}

/**
 * A server of 2026-07-28 that refuses unknown callers, and honors only tools and what the caller
 * may receive.
 */
export class GuardedServer {
  readonly #server: Server;
  readonly #listeners = new Set<Listener>();
  readonly rights: Rights;
  /** `caller method filter` of each authenticated request. */
  readonly log: string[] = [];
  /** All requests, authenticated or not. */
  readonly requests: IncomingMessage[] = [];
  trick: Trick = () => false;

  constructor(rights: Rights) {
    this.rights = rights;
    this.#server = createServer((incoming, outgoing) => void this.#respond(incoming, outgoing));
  }

  /** Starts it on a free port; resolves with its endpoint. */
  async start(path = '/mcp'): Promise<string> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${portOf(this.#server)}${path}`;
  }

  /** Stops it and its connections. */
  stop(): void {
    this.#server.close().closeAllConnections();
  }

  /** Notifies the streams that honor a resource that it changed. */
  update(uri: string): void {
    for (const { honored, id, outgoing } of this.#listeners)
      if (honored.resourceSubscriptions?.includes(uri))
        outgoing.write(`data: ${updated(id, uri)}\n\n`);
  }

  /** Sends the state of a task to the streams that honor it. */
  advance(taskId: string): void {
    for (const { honored, id, outgoing } of this.#listeners)
      if (honored.taskIds?.includes(taskId))
        outgoing.write(`data: ${taskNotification(id, taskState(taskId, 'cancelled'))}\n\n`);
  }

  /** The number of matching entries of the log. */
  count(entry: string | RegExp): number {
    return this.log.filter((line) => line.match(entry)).length;
  }

  async #respond(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    this.requests.push(incoming);
    let text = '';
    for await (const part of incoming.setEncoding('utf8')) text += part;
    const id = text.match(/"id":("[^"]*"|\d+)/)?.[1];
    const { method = '', params } = JSON.parse(text || '{}') as {
      method?: string;
      params?: { notifications?: Filter };
    };
    if (this.trick(incoming, outgoing, method)) return;
    const caller = callerOf(incoming);
    if (caller === undefined || this.rights[caller] === undefined) {
      outgoing.writeHead(401, { 'www-authenticate': 'Bearer realm="behind"' }).end();
      return;
    }
    const filter = params?.notifications;
    this.log.push(`${caller} ${method}${filter === undefined ? '' : ` ${JSON.stringify(filter)}`}`);
    if (method === 'subscriptions/listen') this.#listen(caller, id ?? '0', filter ?? {}, outgoing);
    else if (id === undefined) outgoing.writeHead(202).end();
    else
      json(
        outgoing,
        200,
        `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(RESULTS[method] ?? {})}}`,
      );
  }

  #listen(caller: string, id: string, filter: Filter, outgoing: ServerResponse): void {
    const { taskIds = [], uris = [] } = this.rights[caller] ?? {};
    const honored: Filter = filter.toolsListChanged ? { toolsListChanged: true } : {};
    const urisHonored = filter.resourceSubscriptions?.filter((uri) => uris.includes(uri)) ?? [];
    const tasksHonored = filter.taskIds?.filter((task) => taskIds.includes(task)) ?? [];
    if (urisHonored.length > 0) honored.resourceSubscriptions = urisHonored;
    if (tasksHonored.length > 0) honored.taskIds = tasksHonored;
    const listener = { id, honored, outgoing };
    this.#listeners.add(listener);
    outgoing.once('close', () => this.#listeners.delete(listener));
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
    outgoing.write(`data: ${acknowledged(id, honored)}\n\n`);
  }
}

/** Responds with JSON text. */
export function json(
  outgoing: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string> = {},
): void {
  outgoing.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
}

function callerOf({ headers }: IncomingMessage): string | undefined {
  const key = headers['x-api-key'];
  return typeof key === 'string' ? key : headers.authorization?.replace(/^Bearer /, '');
}

const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  extensions: { 'io.modelcontextprotocol/tasks': {} },
};
const RESULTS: Record<string, object> = {
  'server/discover': {
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: CAPABILITIES,
    ttlMs: 600_000,
    cacheScope: 'public',
  },
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: CAPABILITIES,
    serverInfo: { name: 'behind', version: '1' },
  },
};
