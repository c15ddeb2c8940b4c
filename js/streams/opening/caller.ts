import type { CallerContext } from '../../auth/authorize.js';

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

/**
 * Returns whether the URL and header fields of a request have more than `bytes` bytes, which a
 * stream may keep of them.
 */
export function exceeds({ headers, url }: Request, bytes: number): boolean {
  let left = bytes - url.length;
  for (const [name, value] of headers) left -= name.length + value.length;
  return left < 0;
}
