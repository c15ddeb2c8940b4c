import { CLIENT } from '../examination.js';
import type { Endpoint, EndpointResponse, Opened } from '../wire/endpoint.js';

/** The latest revision with sessions. */
export const LEGACY = '2025-11-25';

/** Sends requests of revision 2025-11-25. */
export class SessionClient {
  readonly #endpoint: Endpoint;
  /** The id of the session; undefined if the server keeps none. */
  id: string | undefined;
  #next = 0;

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint;
  }

  /** Begins a session. */
  async initialize(): Promise<EndpointResponse> {
    const params = { protocolVersion: LEGACY, capabilities: {}, clientInfo: CLIENT };
    const response = await this.ask('initialize', params);
    this.id = response.headers.get('mcp-session-id') ?? undefined;
    if (response.message?.result !== undefined) await this.#initialized();
    return response;
  }

  /** Sends a request, in the session or in another one. */
  ask(method: string, params: object = {}, session = this.id): Promise<EndpointResponse> {
    this.#next += 1;
    const message = { jsonrpc: '2.0', id: this.#next, method, params };
    return this.#endpoint.ask('POST', message, headersOf(session));
  }

  /** Opens the stream of the session, after the event `lastEventId`. */
  listen(lastEventId?: string): Promise<Opened> {
    const resumed = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    return this.#endpoint.open('GET', undefined, { ...headersOf(this.id), ...resumed });
  }

  /** Ends the session. Returns the status. */
  async end(): Promise<number> {
    const { status } = await this.#endpoint.ask('DELETE', undefined, headersOf(this.id));
    return status;
  }

  async #initialized(): Promise<void> {
    const message = { jsonrpc: '2.0', method: 'notifications/initialized' };
    const { stream } = await this.#endpoint.open('POST', message, headersOf(this.id));
    stream.close();
  }
}

function headersOf(session: string | undefined): Record<string, string> {
  const named = session === undefined ? {} : { 'mcp-session-id': session };
  return { 'mcp-protocol-version': LEGACY, ...named };
}
