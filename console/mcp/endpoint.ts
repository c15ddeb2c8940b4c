import { EndpointError } from './endpoint-error.js';
import { record, records, text } from './json.js';
import { MODERN, type Revision, SESSIONS } from './revision.js';
import { answerIn } from './wire.js';

/** What a server says of itself. */
export interface Server {
  name: string;
  version: string;
  revision: Revision;
  capabilities: Record<string, unknown>;
}

/** What is listed. */
export type List = 'tools' | 'prompts' | 'resources';

/** Sees every text that goes out and comes in. */
export type Tap = (direction: 'in' | 'out', text: string) => void;

/**
 * Asks an MCP endpoint as a page does: one POST for each request; in sessions where it knows
 * nothing newer.
 */
export class Endpoint {
  readonly url: URL;
  readonly token: string;
  readonly #tap: Tap;
  #revision: Revision = MODERN;
  #session: string | undefined;
  #asked = 0;

  /** @throws EndpointError where `url` is no address of HTTP. */
  constructor(url: string, token: string, tap: Tap) {
    this.url = addressOf(url);
    this.token = token;
    this.#tap = tap;
  }

  /** Asks who is there, first as 2026-07-28 has it. */
  async open(): Promise<Server> {
    try {
      const found = await this.#request('server/discover');
      return serverIn(
        found,
        record(found['_meta'])?.['io.modelcontextprotocol/serverInfo'],
        MODERN,
      );
    } catch (error) {
      if (!(error instanceof EndpointError && error.mayBeOlder)) throw error;
    }
    return this.#begin();
  }

  /** Everything in a list, page by page. */
  async list(list: List): Promise<Record<string, unknown>[]> {
    const items = [];
    let cursor: string | undefined;
    for (let pages = 0; pages < MAX_PAGES; pages += 1) {
      const page = await this.#request(`${list}/list`, cursor === undefined ? {} : { cursor });
      items.push(...records(page[list]));
      cursor = text(page['nextCursor']);
      if (cursor === undefined) break;
    }
    return items;
  }

  /** Calls a tool. */
  callTool(name: string, args: Record<string, unknown>): Promise<Record<string, unknown>> {
    return this.#request('tools/call', { name, arguments: args }, name);
  }

  /** Begins a session of an earlier revision. */
  async #begin(): Promise<Server> {
    this.#revision = SESSIONS;
    const params = { protocolVersion: SESSIONS, capabilities: {}, clientInfo: CLIENT };
    const answer = await this.#request('initialize', params);
    await this.#post(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }), {});
    return serverIn(answer, answer['serverInfo'], SESSIONS);
  }

  async #request(method: string, params: Record<string, unknown> = {}, name?: string) {
    this.#asked += 1;
    const id = `console:${this.#asked}`;
    const isModern = this.#revision === MODERN;
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id,
      method,
      params: isModern ? { _meta: META, ...params } : params,
    });
    const routing: Record<string, string> = isModern ? { 'Mcp-Method': method } : {};
    if (isModern && name !== undefined) routing['Mcp-Name'] = name;
    const response = await this.#post(body, routing);
    return answerIn(response, id, (said) => this.#tap('in', said));
  }

  async #post(body: string, routing: Record<string, string>): Promise<Response> {
    const headers = {
      ...HEADERS,
      'MCP-Protocol-Version': this.#revision,
      ...routing,
      ...bearer(this.token),
    };
    const session = this.#session === undefined ? {} : { 'Mcp-Session-Id': this.#session };
    this.#tap('out', body);
    const init = { method: 'POST', headers: { ...headers, ...session }, body };
    const response = await fetch(this.url, init).catch((cause) => {
      throw new EndpointError(
        'unreachable',
        'The endpoint cannot be reached, or does not let this page ask.',
        {
          cause,
        },
      );
    });
    this.#session ??= response.headers.get('Mcp-Session-Id') ?? undefined;
    return response;
  }
}

/** The header field of a token, if there is one. */
export function bearer(token: string): Record<string, string> {
  return token === '' ? {} : { Authorization: `Bearer ${token}` };
}

/** What the console calls itself. */
export const CLIENT = { name: 'mcp-listen-console', version: '0.1.0' };

function addressOf(url: string): URL {
  const address = URL.canParse(url, location.href) ? new URL(url, location.href) : undefined;
  if (address !== undefined && /^https?:$/.test(address.protocol)) return address;
  throw new EndpointError('no-address', 'That is no address of HTTP.');
}

function serverIn(answer: Record<string, unknown>, info: unknown, revision: Revision): Server {
  const { name, title, version } = record(info) ?? {};
  return {
    name: text(title) ?? text(name) ?? 'A server without a name',
    version: text(version) ?? '',
    revision,
    capabilities: record(answer['capabilities']) ?? {},
  };
}

const HEADERS = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
};
const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': CLIENT,
  'io.modelcontextprotocol/clientCapabilities': {},
};
/** A bound on pages, because a server may always name a next page. */
const MAX_PAGES = 50;
