import { EndpointError } from './endpoint-error.js';
import type { Destination } from './frame.js';
import { record, records, text } from './json.js';
import { MODERN, type Revision, SESSIONS } from './revision.js';
import { routingOf } from './routing.js';
import { answerIn } from './wire.js';

/** How a server describes itself. */
export interface Server {
  name: string;
  version: string;
  revision: Revision;
  capabilities: Record<string, unknown>;
}

/** The lists of a server. */
export type List = 'tools' | 'prompts' | 'resources' | 'templates' | 'events';

/** Called with every message that is sent or received. */
export type Tap = (direction: 'in' | 'out', text: string, to?: Destination) => void;

/**
 * A client of an MCP endpoint: sends one POST for each request, in a session if the server does
 * not know 2026-07-28.
 */
export class Endpoint {
  readonly url: URL;
  readonly token: string;
  readonly #tap: Tap;
  #revision: Revision = MODERN;
  #session: string | undefined;
  #requests = 0;

  /** @throws EndpointError if `url` is not an HTTP URL. */
  constructor(url: string, token: string, tap: Tap) {
    this.url = addressOf(url);
    this.token = token;
    this.#tap = tap;
  }

  /** Discovers the server, first according to 2026-07-28. */
  async open(): Promise<Server> {
    try {
      const result = await this.request('server/discover');
      return serverIn(
        result,
        record(result['_meta'])?.['io.modelcontextprotocol/serverInfo'],
        MODERN,
      );
    } catch (error) {
      if (!(error instanceof EndpointError && error.mayBeOlder)) throw error;
    }
    return this.#begin();
  }

  /** Where the requests go. */
  get destination(): Destination {
    return { url: this.url.href, hasToken: this.token !== '' };
  }

  /** Returns all items of a list, reading it page by page. */
  async list(list: List): Promise<Record<string, unknown>[]> {
    const items = [];
    let cursor: string | undefined;
    for (let pages = 0; pages < MAX_PAGES; pages += 1) {
      const { member, method } = LISTED[list];
      const page = await this.request(method, cursor === undefined ? {} : { cursor });
      items.push(...records(page[member]));
      cursor = text(page['nextCursor']);
      if (cursor === undefined) break;
    }
    return items;
  }

  /** Calls a tool. */
  callTool(name: string, args: Record<string, unknown>): Promise<Record<string, unknown>> {
    return this.request('tools/call', { name, arguments: args });
  }

  /** Begins a session of an earlier revision. */
  async #begin(): Promise<Server> {
    this.#revision = SESSIONS;
    const params = { protocolVersion: SESSIONS, capabilities: {}, clientInfo: CLIENT };
    const answer = await this.request('initialize', params);
    await this.#post(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }), {});
    return serverIn(answer, answer['serverInfo'], SESSIONS);
  }

  /**
   * Sends a request; resolves with its result. Aborting `signal` cancels it.
   *
   * @throws EndpointError if there is none.
   */
  async request(
    method: string,
    params: Record<string, unknown> = {},
    signal?: AbortSignal,
  ): Promise<Record<string, unknown>> {
    this.#requests += 1;
    const id = `console:${this.#requests}`;
    const isModern = this.#revision === MODERN;
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id,
      method,
      params: isModern ? { _meta: META, ...params } : params,
    });
    const response = await this.#post(body, isModern ? routingOf(method, params) : {}, signal);
    return answerIn(response, id, (message) => this.#tap('in', message));
  }

  async #post(
    body: string,
    routing: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<Response> {
    const headers = {
      ...HEADERS,
      'MCP-Protocol-Version': this.#revision,
      ...routing,
      ...bearer(this.token),
    };
    const session = this.#session === undefined ? {} : { 'Mcp-Session-Id': this.#session };
    this.#tap('out', body, this.destination);
    const init = { method: 'POST', headers: { ...headers, ...session }, body };
    const response = await fetch(this.url, { ...init, ...(signal && { signal }) }).catch((cause) =>
      signal?.aborted ? Promise.reject(cause) : unreachable(this.url, cause),
    );
    this.#session ??= response.headers.get('Mcp-Session-Id') ?? undefined;
    return response;
  }
}

/** Returns the header field for a token; none for an empty token. */
export function bearer(token: string): Record<string, string> {
  return token === '' ? {} : { Authorization: `Bearer ${token}` };
}

/** The name and version that the console sends. */
export const CLIENT = { name: 'mcp-listen-console', version: '0.1.0' };

/**
 * Throws why `fetch` has failed. A browser does not tell a script whether a server of another
 * origin is down or does not allow the page. A request whose response the script cannot read
 * succeeds in the second case only.
 */
async function unreachable(url: URL, cause: unknown): Promise<never> {
  const probe = new AbortController();
  const answers = fetch(url, { mode: 'no-cors', signal: probe.signal }).then(
    () => true,
    () => false,
  );
  const isBlocked = url.origin !== location.origin && (await answers);
  probe.abort();
  throw new EndpointError('unreachable', isBlocked ? blockedText(location.origin) : DOWN, {
    cause,
  });
}

function blockedText(origin: string): string {
  return `The server is there, but does not allow this page (CORS). It has to allow the origin ${origin}, the methods POST, GET and DELETE, and the header fields that MCP uses.`;
}

function addressOf(url: string): URL {
  const address = URL.canParse(url, location.href) ? new URL(url, location.href) : undefined;
  if (address !== undefined && /^https?:$/.test(address.protocol)) return address;
  throw new EndpointError('no-address', 'This is not an HTTP URL.');
}

function serverIn(answer: Record<string, unknown>, info: unknown, revision: Revision): Server {
  const { name, title, version } = record(info) ?? {};
  return {
    name: text(title) ?? text(name) ?? 'Unnamed server',
    version: text(version) ?? '',
    revision,
    capabilities: record(answer['capabilities']) ?? {},
  };
}

const DOWN = 'The endpoint cannot be reached: nothing answers at this URL.';
const HEADERS = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
};
const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': CLIENT,
  'io.modelcontextprotocol/clientCapabilities': {
    extensions: { 'io.modelcontextprotocol/events': {}, 'io.modelcontextprotocol/tasks': {} },
  },
};
/** The request for each list, and the member of its result. */
const LISTED: Record<List, { method: string; member: string }> = {
  tools: { method: 'tools/list', member: 'tools' },
  prompts: { method: 'prompts/list', member: 'prompts' },
  resources: { method: 'resources/list', member: 'resources' },
  templates: { method: 'resources/templates/list', member: 'resourceTemplates' },
  events: { method: 'events/list', member: 'events' },
};
/** Maximum number of pages of a list: a server could name a next page forever. */
const MAX_PAGES = 50;
