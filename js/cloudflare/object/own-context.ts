import { deferred } from '../../timing/deferred.js';

/**
 * Returns a function that runs `action` in the I/O context of the object that calls this now. Any
 * object of the isolate may call that function, and only the first call counts.
 */
export function inOwnContext(action: () => void): () => void {
  const { promise, resolve } = deferred();
  void promise.then(action);
  return resolve;
}
