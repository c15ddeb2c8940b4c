import type { JSONRPCMessage, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type Access, tokenIn } from './access/access.js';
import { EndpointError, endpointErrorOf, refusal, withoutResult } from './endpoint-error.js';
import { tappedFetch } from './http/tapped-fetch.js';
import { unreachable } from './http/unreachable.js';
import { record, recordIn, text } from './json.js';
import { loadSdk } from './load-sdk.js';
import type { Destination, Tap } from './message.js';
import { MODERN, SESSIONS } from './revision.js';
import { type Server, serverIn } from './server.js';

/**
 * An MCP endpoint, over the transport of the official client. The transport sends requests, reads
 * responses, keeps the session and obtains tokens. The `Client` of that package would hide from the
 * user what it does not know: it rejects results of extensions and methods that are not in its
 * schemas.
 */
export class Endpoint {
  readonly url: URL;
  readonly access: Access;
  readonly #fetch: typeof fetch;
  readonly #waiting = new Map<string, Waiting>();
  #transport: StreamableHTTPClientTransport | undefined;
  #revision: string = MODERN;
  #requests = 0;
  #isClosed = false;

  /** @param tap - called with every message of this endpoint. */
  constructor(url: URL, access: Access, tap: Tap) {
    this.url = url;
    this.access = access;
    const tapped = tappedFetch(tap, this.destination);
    this.#fetch = (input, init) => this.#send(tapped, input, init);
  }

  /** Where the requests go. */
  get destination(): Destination {
    return { url: this.url.href, hasToken: this.access.provider !== undefined };
  }

  /**
   * Connects: asks for the server's description, first according to 2026-07-28.
   *
   * @param callback - the parameters from an authorization server, at the end of a sign-in.
   * @throws EndpointError if the server does not describe itself.
   */
  async open(callback?: URLSearchParams): Promise<Server> {
    const { StreamableHTTPClientTransport } = await loadSdk();
    const { provider: authProvider } = this.access;
    const transport = new StreamableHTTPClientTransport(this.url, {
      fetch: this.#fetch,
      ...(authProvider && { authProvider }),
    });
    this.#transport = transport;
    transport.onmessage = (message) => this.#handle({ ...message });
    await transport.start();
    if (callback !== undefined) await this.#finish(transport, callback);
    return this.#discover();
  }

  /** Ends the session, if there is one, and all requests: they reject, also those made later. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.access.stay?.();
    // The transport does not report the end of an event stream that it has aborted itself.
    for (const { reject } of this.#waiting.values()) reject(left());
    try {
      await this.#transport?.terminateSession();
    } catch {
      // The server may be gone.
    }
    await this.#transport?.close();
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
    if (this.#isClosed) throw left();
    this.#requests += 1;
    const id = `console:${this.#requests}`;
    const { promise, reject, resolve } = Promise.withResolvers<Record<string, unknown>>();
    const waiting: Waiting = { resolve, reject, isStream: false };
    this.#waiting.set(id, waiting);
    const cancel = () => this.#cancel(id, signal?.reason);
    signal?.addEventListener('abort', cancel);
    try {
      const sent = this.#sendRequest({ jsonrpc: '2.0', id, method, params }, waiting, signal);
      const [result] = await Promise.all([promise, sent]);
      return result;
    } catch (error) {
      throw signal?.aborted ? error : endpointErrorOf(error, waiting.status);
    } finally {
      this.#waiting.delete(id);
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** Sends a request; a response that has ended without a result rejects it. */
  async #sendRequest(
    { params, ...message }: Request,
    waiting: Waiting,
    signal?: AbortSignal,
  ): Promise<void> {
    const _meta = { ...META, ...record(params['_meta']) };
    const meta = this.#revision === MODERN ? { _meta } : {};
    const onRequestStreamEnd = () => waiting.reject(withoutResult(waiting.status ?? 0));
    const options = { onRequestStreamEnd, ...(signal && { requestSignal: signal }) };
    await this.#transport?.send({ ...message, params: { ...params, ...meta } }, options);
    if (!waiting.isStream) onRequestStreamEnd();
  }

  #cancel(requestId: string, reason: unknown): void {
    this.#waiting.get(requestId)?.reject(reason);
    if (this.#revision === MODERN) return;
    const method = 'notifications/cancelled';
    void this.#transport?.send({ jsonrpc: '2.0', method, params: { requestId } }).catch(() => {});
  }

  /** Handles a message from the server. */
  #handle({ error, id, method, result }: Record<string, unknown>): void {
    if (method !== undefined) {
      if (id !== undefined) this.#respond(id, method === 'ping');
      return;
    }
    const waiting = this.#waiting.get(String(id));
    if (error === undefined) waiting?.resolve(record(result) ?? {});
    else waiting?.reject(refusal(error, waiting.status ?? 0));
  }

  /** Responds to a request of the server, as clients without capabilities do. */
  #respond(id: unknown, isPing: boolean): void {
    const response = isPing ? { result: {} } : { error: { code: -32601, message: NO_METHOD } };
    const message = { jsonrpc: '2.0', id, ...response } as JSONRPCMessage;
    void this.#transport?.send(message).catch(() => {});
  }

  async #finish(transport: StreamableHTTPClientTransport, callback: URLSearchParams) {
    try {
      await transport.finishAuth(callback);
    } catch (error) {
      throw endpointErrorOf(error);
    }
  }

  async #discover(): Promise<Server> {
    try {
      const result = await this.request('server/discover');
      const info = record(result['_meta'])?.['io.modelcontextprotocol/serverInfo'];
      return serverIn(result, info, MODERN);
    } catch (error) {
      if (!(error instanceof EndpointError && error.mayBeOlder)) throw error;
    }
    return this.#begin();
  }

  /** Begins a session of an earlier revision. */
  async #begin(): Promise<Server> {
    this.#revision = SESSIONS;
    const params = { protocolVersion: SESSIONS, capabilities: {}, clientInfo: CLIENT };
    const result = await this.request('initialize', params);
    this.#revision = text(result['protocolVersion']) ?? SESSIONS;
    this.#transport?.setProtocolVersion(this.#revision);
    await this.#transport?.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return serverIn(result, result['serverInfo'], this.#revision);
  }

  /** Sends what the transport sends, and notes the HTTP status of the response to a request. */
  async #send(tapped: typeof fetch, ...[input, init]: Parameters<typeof fetch>): Promise<Response> {
    const first = await this.#sendOnce(tapped, input, init);
    const token = first.status === 401 ? await this.#renewed(input, init) : '';
    const response =
      token === '' ? first : await this.#sendOnce(tapped, input, withToken(token, init));
    const id = recordIn(String(init?.body ?? ''))?.['id'];
    const waiting = this.#waiting.get(String(id));
    if (waiting !== undefined) {
      waiting.status = response.status;
      waiting.isStream = /^text\/event-stream/.test(response.headers.get('Content-Type') ?? '');
    }
    return response;
  }

  async #sendOnce(tapped: typeof fetch, ...[input, init]: Parameters<typeof fetch>) {
    return tapped(input, init).catch((cause) =>
      // Where the client looks for an authorization server, it expects the error of `fetch`.
      !this.#isOwn(input) || init?.signal?.aborted
        ? Promise.reject(cause)
        : unreachable(this.url, cause),
    );
  }

  /**
   * Returns the token in place of that of a request that was refused; an empty string if there is
   * none. The transport would refresh the token for each of several requests.
   */
  async #renewed(...[input, init]: Parameters<typeof fetch>): Promise<string> {
    const refused = tokenIn(init?.headers);
    if (refused === '' || !this.#isOwn(input)) return '';
    const token = await this.access.renewed?.(refused);
    return token === undefined || token === refused ? '' : token;
  }

  #isOwn(input: Parameters<typeof fetch>[0]): boolean {
    return new URL(String(input)).href === this.url.href;
  }
}

function withToken(token: string, init: RequestInit | undefined): RequestInit {
  const headers = new Headers(init?.headers);
  headers.set('Authorization', `Bearer ${token}`);
  return { ...init, headers };
}

/** A request that waits for its response. */
interface Waiting {
  resolve: (result: Record<string, unknown>) => void;
  reject: (reason: unknown) => void;
  /** The HTTP status of the response. */
  status?: number;
  /** Whether the response is an event stream: its messages may arrive after `send` has resolved. */
  isStream: boolean;
}

interface Request {
  jsonrpc: '2.0';
  id: string;
  method: string;
  params: Record<string, unknown>;
}

/** The name and version that the console sends. */
export const CLIENT = { name: 'mcp-listen-console', version: '0.2.0' };

/**
 * Returns the URL of an endpoint.
 *
 * @throws EndpointError if it is not an HTTP URL.
 */
export function addressOf(url: string): URL {
  const address = URL.canParse(url, location.href) ? new URL(url, location.href) : undefined;
  if (address === undefined || !/^https?:$/.test(address.protocol))
    throw new EndpointError('no-address', 'This is not an HTTP URL.');
  // The policy of the page allows no others.
  const isAllowed =
    address.protocol === 'https:' || /^(localhost|127\.0\.0\.1)$/.test(address.hostname);
  if (isAllowed || address.origin === location.origin) return address;
  throw new EndpointError('no-address', ONLY_LOCAL);
}

function left(): EndpointError {
  return new EndpointError('unreachable', 'The page has left this endpoint.');
}

/** The metadata of the protocol, which the page adds to a request. */
export const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': CLIENT,
  'io.modelcontextprotocol/clientCapabilities': {
    extensions: { 'io.modelcontextprotocol/events': {}, 'io.modelcontextprotocol/tasks': {} },
  },
};
const ONLY_LOCAL =
  'The page connects over HTTPS, or over HTTP to localhost or 127.0.0.1 and to its own origin.';
const NO_METHOD = 'Method not found';
