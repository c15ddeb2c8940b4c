/**
 * Marks a request without a session as one that this server answers itself, whatever its revision,
 * and returns it: no other server checks its caller.
 */
export function answeredHere(request: Request): Request {
  answered.add(request);
  return request;
}

/** Returns whether this server answers the request itself. */
export function isAnsweredHere(request: Request): boolean {
  return answered.has(request);
}

const answered = new WeakSet<Request>();
