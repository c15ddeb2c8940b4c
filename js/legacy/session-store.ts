/** A session of a client of 2025-11-25 or earlier, as it begins. */
export interface NewSession {
  /** The `Mcp-Session-Id`. */
  id: string;
  /** Whose it is; a session without one is whoever's knows its id. */
  principal?: string;
  /** What the client was told that it is notified about: MCP `ServerCapabilities` as JSON text. */
  capabilities: string;
  /** Milliseconds without a request or a stream after which it is over. */
  idleMs: number;
}

/** A session that is alive. */
export interface SessionState {
  /** As in {@link NewSession}. */
  capabilities: string;
  /** The event id that says "everything published before the session began"; its first stream goes on from there. */
  since?: string;
  /** Whether its stream is open somewhere. */
  isStreaming: boolean;
}

/**
 * Sessions, and the resources that each one watches. The stream of a session is attached to the same
 * bus, which follows what the session watches.
 */
export interface SessionStore {
  /** Whether all isolates and processes that use the bus see the same sessions. */
  readonly isShared: boolean;
  /** Begins a session; answers false where there are `limit` of them already. */
  create(session: NewSession, limit: number): Promise<boolean>;
  /** The session, which counts as used now; undefined where it is unknown, over, or not this principal's. */
  find(id: string, principal: string | undefined): Promise<SessionState | undefined>;
  /** The client has said that it is ready: the session's stream is held until then, and goes on. */
  initialized(id: string): Promise<void>;
  /** The resources that a session watches. */
  watched(id: string): Promise<string[]>;
  /** Watches a resource; answers false where the session watches `limit` of them already. */
  watch(id: string, uri: string, limit: number): Promise<boolean>;
  /** Watches a resource no longer. */
  unwatch(id: string, uri: string): Promise<void>;
  /** Ends the session and its stream. */
  end(id: string): Promise<void>;
}

/** The stream of a session, as it attaches to a bus. */
export interface SessionStream {
  /** Which session. */
  id: string;
}
