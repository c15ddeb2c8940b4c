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
  /**
   * Streams that it holds at once for one address whose callers nobody named (default 256; 0: none). A whole office may
   * share an address: a server with many such callers and no `principal` raises it. Only Cloudflare tells addresses: of an IPv6
   * address the first 64 bits count.
   */
  streamsPerAddress?: number;
  /**
   * Bytes that the names of all streams that it holds may count together (default 16,777,216): of each URI and task that a
   * stream asks for, and each audience and principal of its caller, its bytes and 64 more. Each stream finds a small room in any
   * case: 4,096 bytes, or its part of half of all where that is less. One caller, by name or by address, gets an eighth of all
   * at most, and 429 beyond; where all is gone, streams that need more than the small room get 503. 0: only streams without names.
   */
  namesBytes?: number;
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
}

/** The limits that apply where none are given. */
export const DEFAULT_LIMITS = {
  streams: 4_000,
  streamsPerPrincipal: 16,
  streamsPerAddress: 256,
  namesBytes: 16_777_216,
  sessions: 10_000,
  sessionIdleMs: 1_800_000,
  authorizeMs: 2_000,
  attachMs: 5_000,
  closeMs: 5_000,
};
