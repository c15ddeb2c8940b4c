/**
 * Returns whether `principal` was given this request because an open stream asks again, after
 * `authorizationTtlMs`: it may then answer from a cache, for example. `authorize` has `isOpen`.
 */
export function isOpenStream(request: Request): boolean {
  return open.has(request);
}

/** Notes that a stream of this request is open; returns the request. */
export function ofOpenStream(request: Request): Request {
  open.add(request);
  return request;
}

const open = new WeakSet<Request>();
