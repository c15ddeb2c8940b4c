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

/** Marks the request as that of an open stream, and returns it. */
export function ofOpenStream(request: Request): Request {
  open.add(request);
  return request;
}

const open = new WeakSet<Request>();
