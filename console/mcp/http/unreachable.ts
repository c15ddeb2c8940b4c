import { EndpointError } from '../endpoint-error.js';

/**
 * Throws an error with the reason for which `fetch` failed. A script cannot distinguish whether a
 * server of another origin is down or does not allow the page. A request whose response the script
 * cannot read succeeds in the second case only.
 */
export async function unreachable(url: URL, cause: unknown): Promise<never> {
  const probe = new AbortController();
  const responds = fetch(url, { mode: 'no-cors', signal: probe.signal }).then(
    () => true,
    () => false,
  );
  const isBlocked = url.origin !== location.origin && (await responds);
  probe.abort();
  const message = isBlocked ? blockedText(location.origin) : DOWN;
  throw new EndpointError('unreachable', message, { cause });
}

function blockedText(origin: string): string {
  return (
    'The server responds, but does not allow this page (CORS). It has to allow the origin ' +
    `${origin}, the methods POST, GET and DELETE, and the header fields that MCP uses. ` +
    'If you cannot change it, inspect it through a gateway: "UPSTREAM=URL npm start" in a clone ' +
    'of mcp-listen. Or check it without a browser: "npx mcp-listen doctor URL".'
  );
}

const DOWN = 'The endpoint cannot be reached: nothing responds at this URL.';
