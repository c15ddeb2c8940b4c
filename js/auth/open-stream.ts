/**
 * Returns whether `principal` is called for a stream that is already open, after
 * `authorizationTtlMs`. It may then use a cached result, for example. `authorize` has `isOpen` for
 * this.
 *
 * @example
 * ```ts
 * const principal = (request: Request) =>
 *   isOpenStream(request) ? cachedUserOf(request) : userOf(request);
 * ```
 */
export function isOpenStream(request: Request): boolean {
  return open.has(request);
}

/** What checks the caller of an open stream, as part of the request that holds the stream. */
export interface StreamChecks {
  /** Number of requests that were sent. */
  requests: number;
  /** Whether the host may soon refuse further requests. */
  isExhausted: boolean;
}

/** Marks the request as that of an open stream, and returns it. */
export function ofOpenStream(
  request: Request,
  checks: StreamChecks = { requests: 0, isExhausted: false },
): Request {
  open.set(request, checks);
  return request;
}

/** Returns the checks of the open stream that the request belongs to; undefined for any other. */
export function checksOf(request: Request): StreamChecks | undefined {
  return open.get(request);
}

const open = new WeakMap<Request, StreamChecks>();
