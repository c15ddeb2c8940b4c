import { CLIENT } from '../examination.js';
import type { Endpoint, EndpointResponse, Opened } from '../wire/endpoint.js';

/** The part of a filter that the examination requests. */
export interface Filter {
  toolsListChanged?: true;
  promptsListChanged?: true;
  resourcesListChanged?: true;
  resourceSubscriptions?: string[];
}

/** The revision in which clients open `subscriptions/listen`. */
export const MODERN = '2026-07-28';
/** The key under which a server names the listen request of a notification. */
export const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';
/** The method of an acknowledgment. */
export const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';

/** Sends requests of revision 2026-07-28. */
export class ModernClient {
  readonly #endpoint: Endpoint;
  #next = 0;

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint;
  }

  /** Sends a request that ends. */
  ask(method: string, params: object = {}, name?: string): Promise<EndpointResponse> {
    this.#next += 1;
    const message = requestOf(`doctor:${this.#next}`, method, params, MODERN);
    const named = name === undefined ? {} : { 'mcp-name': name };
    return this.#endpoint.ask('POST', message, { ...headersOf(method, MODERN), ...named });
  }

  /** Opens a stream. `filter` may be malformed on purpose, and `version` unknown. */
  listen(id: string | number, filter: unknown, version = MODERN): Promise<Opened> {
    const method = 'subscriptions/listen';
    const message = requestOf(id, method, { notifications: filter }, version);
    return this.#endpoint.open('POST', message, headersOf(method, version));
  }
}

function requestOf(id: string | number, method: string, params: object, version: string) {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': CLIENT,
  };
  return { jsonrpc: '2.0', id, method, params: { _meta: meta, ...params } };
}

function headersOf(method: string, version: string): Record<string, string> {
  return { 'mcp-protocol-version': version, 'mcp-method': method };
}
