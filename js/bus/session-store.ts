import type { SessionLimits } from '../wasm/server/bindings.js';

export type { SessionLimits };

/** A session of a client of 2025-11-25 or earlier, as it begins. The store gives it its id. */
export interface NewSession {
  /**
   * Whose it is, as `principal` named the caller; undefined: it belongs to all callers without a
   * name.
   */
  principal?: string;
  /**
   * The network address of a caller without a name, where the host tells one: its sessions are
   * counted together.
   */
  address?: string;
  /**
   * The id that the handler behind knows the session by: it never leaves the server. Undefined
   * where that keeps none.
   */
  behind?: string;
  /** What the client was told that it is notified about: MCP `ServerCapabilities` as JSON text. */
  capabilities: string;
  /** Milliseconds without a request or a stream after which it is over: a whole number. */
  idleMs: number;
}

/**
 * Sessions, and the resources that each one watches. The stream of a session is attached to the
 * same bus, which follows what the session watches.
 */
export interface SessionStore {
  /** Whether all isolates and processes that use the bus see the same sessions. */
  readonly isShared: boolean;
  /**
   * Begins a session and resolves with its id; with undefined where there is no room. A caller that
   * has as many as it may loses the least recently used one, if possible one without a stream; no
   * other caller loses any.
   */
  begin(session: NewSession, limits: SessionLimits): Promise<string | undefined>;
  /**
   * Whether there may be a session with this id: a check that costs little, before the caller is
   * named. False refuses the request as one of an unknown session; without this method no id is
   * refused before its caller is named.
   */
  mayBe?(id: string): Promise<boolean>;
  /** Asks something of a session, in words of the core. */
  ask(question: string): Promise<string>;
}

/** Returns the id of a new session: 122 random bits, which say nothing about the session. */
export function newSessionId(): string {
  return crypto.randomUUID();
}
