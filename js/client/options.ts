import { ListenError } from '../model/error.js';

/** The name and version that the client sends to servers. */
export interface ClientInfo {
  /** The name of the client. */
  name: string;
  /** The version of the client. */
  version: string;
}

/**
 * A bearer token, or a function that returns one. The function is called for each request, and once
 * more after a 401.
 */
export type TokenProvider = string | (() => string | Promise<string>);

/** A JSON-RPC message exactly as it was sent or received. */
export interface ListenMessage {
  /** When it was sent or received, in milliseconds since 1970. */
  at: number;
  /** `out`: the client sent it; `in`: the server did. */
  direction: 'in' | 'out';
  /** The message as JSON text. */
  text: string;
}

/** Options of `listen`. */
export interface ClientListenOptions {
  /**
   * Ends the subscription when aborted, and rejects a pending `listen`.
   *
   * @default undefined
   */
  signal?: AbortSignal;
  /**
   * Sends each request.
   *
   * @default globalThis.fetch
   */
  fetch?: typeof fetch;
  /**
   * Header fields to add to every request; the fields of the protocol take precedence. If set,
   * redirects are not followed: one ends the subscription with `redirected`.
   *
   * @default undefined
   */
  headers?: HeadersInit;
  /**
   * Authorizes every request. If set, redirects are not followed: one ends the subscription with
   * `redirected`.
   *
   * @default undefined
   */
  token?: TokenProvider;
  /**
   * Milliseconds to wait for the acknowledgment; in a session of 2025, for each response until the
   * subscription is open. 0 disables.
   *
   * @default 30_000
   */
  ackTimeoutMs?: number;
  /**
   * Ends a subscription whose stream has been silent for this many milliseconds; a keep-alive
   * counts as data. 0 disables.
   *
   * @default 60_000
   */
  maxSilenceMs?: number;
  /**
   * The name and version that the client sends to the server.
   *
   * @default the name and version of this package
   */
  clientInfo?: ClientInfo;
  /**
   * The revision to use. `auto` asks the server with `server/discover`.
   *
   * @default 'auto'
   */
  revision?: 'auto' | '2026-07-28' | '2025';
  /**
   * Called with every JSON-RPC message that is sent or received, for logs.
   *
   * @default undefined
   */
  onMessage?: (message: ListenMessage) => void;
}

/** The default timeouts, in milliseconds. */
export const DEFAULTS = { ackTimeoutMs: 30_000, maxSilenceMs: 60_000 };

/**
 * Checks the timeouts in the options.
 *
 * @throws ListenError `invalid-options`.
 */
export function expectTimeouts({ ackTimeoutMs = 0, maxSilenceMs = 0 }: ClientListenOptions): void {
  if (ackTimeoutMs >= 0 && maxSilenceMs >= 0) return;
  throw new ListenError(
    'invalid-options',
    'ackTimeoutMs and maxSilenceMs must be numbers of at least 0',
  );
}

/** Returns `clientInfo` as JSON text; undefined selects the core's default. */
export function infoOf({ clientInfo }: ClientListenOptions): string | undefined {
  return clientInfo && JSON.stringify(clientInfo);
}
