import { ListenError } from './error.js';

/** Upper bounds; each is the largest value still accepted. */
export interface ListenLimits {
  /** Bytes of a listen request's body (default 65,536). */
  bodyBytes?: number;
  /**
   * Milliseconds in which a body that is read here has to arrive, up to the limit of its bytes; a later one is a 408
   * (default 10,000; below 1: no deadline).
   */
  bodyMs?: number;
  /**
   * Bytes of the header fields of a request whose stream keeps them, to have `principal` or `authorize` asked again; more is
   * a 431 (default 16,384).
   */
  headerBytes?: number;
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
  /**
   * Sessions of clients of earlier revisions that are alive at once (default 10,000). Where there
   * is a `principal`, callers that it does not name may hold half of them, and half of
   * `busUriBytes`. Below 1: none may begin.
   */
  sessions?: number;
  /**
   * Sessions of one caller that `principal` named, or of one network address where a caller has no
   * name and the host tells the address (default 16). A caller that begins one more loses its least
   * recently used one, if possible one without a stream. Below 1: these callers may begin none.
   */
  sessionsPerPrincipal?: number;
  /** Bytes of the URIs that one session watches, 64 more for each (default 65,536; 0: none). */
  sessionUriBytes?: number;
  /**
   * Bytes of the URIs that all sessions of a bus watch, 64 more for each (default 16,777,216; 0:
   * none).
   */
  busUriBytes?: number;
  /** Milliseconds without a request or a stream after which such a session is over (default 1,800,000). */
  sessionIdleMs?: number;
  /** Milliseconds that `authorize` may take (default 2,000). */
  authorizeMs?: number;
  /** Milliseconds that the bus may take to confirm a registration (default 3,000). */
  attachMs?: number;
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
  bodyMs: 10_000,
  headerBytes: 16_384,
  uris: 256,
  streams: 4_000,
  streamsPerPrincipal: 16,
  streamsPerAddress: 256,
  namesBytes: 16_777_216,
  sessions: 10_000,
  sessionsPerPrincipal: 16,
  sessionUriBytes: 65_536,
  busUriBytes: 16_777_216,
  sessionIdleMs: 1_800_000,
  authorizeMs: 2_000,
  attachMs: 3_000,
  answerBytes: 1_048_576,
  answerMs: 10_000,
};

/**
 * Returns the limits, with the default of each one that is undefined.
 *
 * @throws ListenError `invalid-options` for one that is not a number: nothing is above `NaN`.
 */
export function limitsOf<Limits extends ListenLimits>(limits?: Limits): typeof DEFAULT_LIMITS & Limits {
  const given = Object.entries(limits ?? {}).filter(([, limit]) => limit !== undefined);
  for (const [name, limit] of given) {
    if (typeof limit === 'number' && !Number.isNaN(limit)) continue;
    throw new ListenError('invalid-options', `limits.${name} is not a number`);
  }
  return { ...DEFAULT_LIMITS, ...(Object.fromEntries(given) as Limits) };
}
