import { addressOf } from '../web/client-address.js';
import type { CallerContext } from './authorize.js';

/**
 * Returns the text that identifies a caller to the limits for each caller: the name that
 * `principal` returns, or the address that the host reports; undefined if it has neither.
 */
export function callerId({ principal, request }: CallerContext): string | undefined {
  if (principal !== undefined) return `principal ${principal}`;
  const address = addressOf(request);
  return address === undefined ? undefined : `address ${address}`;
}
