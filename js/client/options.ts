import { ListenError } from '../model/error.js';

/** What a client is, as servers are told. */
export interface ClientInfo {
  name: string;
  version: string;
}

/** A bearer token, or what asks for one: at each request, and once more after a 401. */
export type TokenProvider = string | (() => string | Promise<string>);

/** A JSON-RPC message as it stood on the wire. */
export interface ListenMessage {
  /** Milliseconds since 1970. */
  at: number;
  direction: 'in' | 'out';
  text: string;
}

/** How to listen. */
export interface ClientListenOptions {
  /** Ends the subscription, and `listen` if it has not resolved. */
  signal?: AbortSignal;
  /**
   * Sends each request.
   *
   * @default globalThis.fetch
   */
  fetch?: typeof fetch;
  /** Header fields for every request; those of the protocol come before them. With any given, redirects are not followed (`redirected`). */
  headers?: HeadersInit;
  /** Authorizes every request. With it, redirects are not followed (`redirected`). */
  token?: TokenProvider;
  /**
   * Milliseconds that the acknowledgment may take. 0 disables.
   *
   * @default 30_000
   */
  ackTimeoutMs?: number;
  /**
   * Milliseconds that an open stream may be silent; a keep-alive ends the silence. 0 disables.
   *
   * @default 60_000
   */
  maxSilenceMs?: number;
  /**
   * The name and version that the client gives to the server.
   *
   * @default the name and version of this package
   */
  clientInfo?: ClientInfo;
  /**
   * The revision that the client speaks. `auto` asks the server with `server/discover`.
   *
   * @default 'auto'
   */
  era?: 'auto' | '2026-07-28' | '2025';
  /**
   * Called with every JSON-RPC message, for logs.
   */
  onMessage?: (message: ListenMessage) => void;
}

/** The limits that apply where none are given, in milliseconds. */
export const DEFAULTS = { ackTimeoutMs: 30_000, maxSilenceMs: 60_000 };

/**
 * Checks the timeouts that are given.
 *
 * @throws ListenError `invalid-options`.
 */
export function expectTimeouts({ ackTimeoutMs = 0, maxSilenceMs = 0 }: ClientListenOptions): void {
  if (ackTimeoutMs >= 0 && maxSilenceMs >= 0) return;
  throw new ListenError('invalid-options', 'ackTimeoutMs and maxSilenceMs are numbers from 0');
}

/** What the client says that it is, as JSON text; undefined: what the core says. */
export function infoOf({ clientInfo }: ClientListenOptions): string | undefined {
  return clientInfo && JSON.stringify(clientInfo);
}
