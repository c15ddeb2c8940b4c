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

/**
 * Returns the text that identifies the IPv6 /48 of a caller without a name. One client can have all
 * of its 65,536 networks. Undefined for other callers.
 */
export function siteId({ principal, request }: CallerContext): string | undefined {
  if (principal !== undefined) return undefined;
  const [, site] = /^((?:[\da-f]+:){3})[\da-f]+::\/64$/.exec(addressOf(request) ?? '') ?? [];
  return site === undefined ? undefined : `site ${site}:/48`;
}
