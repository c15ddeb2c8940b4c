/** Upper bounds; each is the largest value still accepted. */
export interface ListenLimits {
  /** Bytes of a listen request's body (default 65,536). */
  bodyBytes?: number;
  /** Nesting of arrays and objects in it (default 64). */
  depth?: number;
  /** Bytes of a request id (default 256). */
  idBytes?: number;
  /** Different resource URIs in one filter (default 256). */
  uris?: number;
  /** Bytes of one resource URI (default 2,048). */
  uriBytes?: number;
  /** Different task ids in one filter (default 256). */
  taskIds?: number;
  /** Bytes of one task id (default 2,048). */
  taskIdBytes?: number;
  /** Streams that this handler holds at once (default 4,000). */
  streams?: number;
  /** Streams that it holds at once for one caller that `principal` named (default 16). */
  streamsPerPrincipal?: number;
  /** Sessions of clients of earlier revisions that are alive at once (default 10,000). */
  sessions?: number;
  /** Milliseconds without a request or a stream after which such a session is over (default 1,800,000). */
  sessionIdleMs?: number;
  /** Milliseconds that `authorize` may take (default 2,000). */
  authorizeMs?: number;
  /** Milliseconds that the bus may take to confirm a registration (default 5,000). */
  attachMs?: number;
  /** Milliseconds that `close` waits for readers to take what is pending (default 5,000). */
  closeMs?: number;
  /**
   * Bytes of an answer to `server/discover`, `initialize` or a question of a gateway that are read
   * (default 1,048,576; 0 accepts only empty answers).
   */
  answerBytes?: number;
  /** Milliseconds that the body of such an answer may take (default 10,000; 0: it must be there at once). */
  answerMs?: number;
}

/** The limits that apply where none are given. */
export const DEFAULT_LIMITS = {
  streams: 4_000,
  streamsPerPrincipal: 16,
  sessions: 10_000,
  sessionIdleMs: 1_800_000,
  authorizeMs: 2_000,
  attachMs: 5_000,
  closeMs: 5_000,
  answerBytes: 1_048_576,
  answerMs: 10_000,
};
