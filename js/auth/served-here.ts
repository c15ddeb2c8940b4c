/**
 * Marks a request without a session as one that this server serves itself, whatever its revision,
 * and returns it: no other server checks its caller.
 */
export function servedHere(request: Request): Request {
  served.add(request);
  return request;
}

/** Returns whether this server serves the request itself. */
export function isServedHere(request: Request): boolean {
  return served.has(request);
}

const served = new WeakSet<Request>();
