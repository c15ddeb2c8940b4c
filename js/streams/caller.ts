import type { CallerContext } from '../auth/authorize.js';
import type { ListenLimits } from '../model/limits.js';

/**
 * Returns the groups and the principal of a stream as JSON text: which restricted events it
 * receives.
 */
export function scopeOf({ groups, principal }: CallerContext): string {
  return JSON.stringify({ groups, ...(principal !== undefined && { principals: [principal] }) });
}

/** Returns the client's continent, on Workers. */
export function continentOf(request: Request): string | undefined {
  const { continent } = (request as { cf?: { continent?: unknown } }).cf ?? {};
  return typeof continent === 'string' ? continent : undefined;
}

/** Returns whether the header fields exceed the bytes that a stream may keep of its request. */
export function areTooLarge(headers: Headers, { headerBytes }: Required<ListenLimits>): boolean {
  let left = headerBytes;
  for (const [name, value] of headers) left -= name.length + value.length;
  return left < 0;
}
