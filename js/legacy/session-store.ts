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
  /** Milliseconds without a request or a stream after which it is over. */
  idleMs: number;
}

/** A session that is alive. */
export interface SessionState {
  /** As in {@link NewSession}. */
  capabilities: string;
  /** As in {@link NewSession}. */
  behind?: string;
  /**
   * The event id that says "everything published before the session began"; its first stream goes
   * on from there.
   */
  since: string;
  /** Whether its stream is open somewhere. */
  isStreaming: boolean;
}

/** Upper bounds on what a store holds; each is the largest value still accepted. */
export interface SessionLimits {
  /** Sessions of all callers. */
  sessions: number;
  /** Sessions of one caller with a name, or of one address. */
  sessionsPerPrincipal: number;
  /**
   * The part of `sessions` and of `busUriBytes` that callers without a name may take together, from
   * 0 to 1.
   */
  unnamedShare: number;
  /** Resources that one session watches. */
  uris: number;
  /** Bytes of their URIs, 64 more for each. */
  sessionUriBytes: number;
  /** The same of all sessions. */
  busUriBytes: number;
}

/** The limit that a further resource would exceed. */
export type UriLimit = 'uris' | 'sessionUriBytes' | 'busUriBytes';

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
  create(session: NewSession, limits: SessionLimits): Promise<string | undefined>;
  /**
   * Whether there may be a session with this id: a check that costs little, before the caller is
   * named. False refuses the request as one of an unknown session; without this method no id is
   * refused before its caller is named.
   */
  mayBe?(id: string): Promise<boolean>;
  /**
   * The session, which counts as used now; undefined where it is unknown, over, or not this
   * principal's.
   */
  find(id: string, principal: string | undefined): Promise<SessionState | undefined>;
  /** The client has said that it is ready: the session's stream is held until then, and goes on. */
  initialized(id: string): Promise<void>;
  /** The resources that a session watches. */
  watched(id: string): Promise<string[]>;
  /** Watches a resource, unless that would exceed a limit: resolves with which one. */
  watch(id: string, uri: string, limits: SessionLimits): Promise<UriLimit | undefined>;
  /** Watches a resource no longer. */
  unwatch(id: string, uri: string): Promise<void>;
  /** Ends the session and its stream. */
  end(id: string): Promise<void>;
}

/** The stream of a session, as it attaches to a bus. */
export interface SessionStream {
  /** Which session. */
  id: string;
  /** Whose it is; undefined: it belongs to no principal. */
  principal?: string | undefined;
}
