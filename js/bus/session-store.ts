import type { SessionLimits } from '../wasm/server/bindings.js';

export type { SessionLimits };

/** A new session of a client of 2025-11-25 or earlier. The store assigns its id. */
export interface NewSession {
  /**
   * The owner of the session, as `principal` named the caller; undefined: any caller without a name
   * may use it.
   */
  principal?: string;
  /**
   * The network address of a caller without a name, if the host provides it. The sessions of one
   * address are counted together.
   */
  address?: string;
  /**
   * The id of the corresponding session of the wrapped handler, which never leaves the server;
   * undefined if the handler keeps no sessions.
   */
  upstreamId?: string;
  /** The capabilities announced to the client: MCP `ServerCapabilities` as JSON text. */
  capabilities: string;
  /** Whole number of milliseconds without a request or a stream after which the session ends. */
  idleMs: number;
}

/**
 * Sessions, and the resources that each one subscribes to. The stream of a session is attached to
 * the same bus, which follows these resources.
 */
export interface SessionStore {
  /** Whether all isolates and processes that use the bus see the same sessions. */
  readonly isShared: boolean;
  /**
   * Begins a session and resolves with its id, or with undefined if there is no room. A caller that
   * already has its maximum loses its least recently used session, if possible one without a
   * stream; other callers lose none.
   */
  begin(session: NewSession, limits: SessionLimits): Promise<string | undefined>;
  /**
   * Returns whether a session with this id may exist: a cheap check before the caller is named.
   * False refuses the request as one of an unknown session. Without this method, no id is refused
   * before its caller is named.
   */
  mayExist?(id: string): Promise<boolean>;
  /** Sends a request of the core about a session, and resolves with the reply. */
  ask(question: string): Promise<string>;
}
