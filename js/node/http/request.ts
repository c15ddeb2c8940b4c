import type { IncomingHttpHeaders } from 'node:http';
import type { IncomingBody, NodeRequest } from './incoming-body.js';

/**
 * Converts the request to a web `Request`. Returns undefined if its host and target do not form a
 * valid URL.
 *
 * @throws ListenError `body-consumed`.
 */
export function requestOf(
  incoming: NodeRequest,
  body: IncomingBody,
  signal: AbortSignal,
): Request | undefined {
  const { method = 'GET' } = incoming;
  const url = addressOf(incoming);
  if (url === undefined) return undefined;
  const headers = headersOf(incoming.headers);
  if (method === 'GET' || method === 'HEAD') return new Request(url, { method, headers, signal });
  const content = body.content();
  if (body.isParsed) for (const name of FRAMING) headers.delete(name);
  // Node requires `duplex` for a stream as the body; the type lacks it.
  return new Request(url, {
    method,
    headers,
    signal,
    body: content,
    duplex: 'half',
  } as RequestInit);
}

/**
 * Returns the URL of a request. Undefined if its host or target is malformed: these could form no
 * URL, or a different one than they state.
 */
function addressOf({ headers, originalUrl, socket, url }: NodeRequest): URL | undefined {
  const { host = 'localhost' } = headers;
  const target = originalUrl ?? url ?? '';
  if (!HOST.test(host) || !TARGET.test(target)) return undefined;
  const address = `${'encrypted' in socket ? 'https' : 'http'}://${host}${target}`;
  return URL.canParse(address) ? new URL(address) : undefined;
}

function headersOf(fields: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const [name, value = []] of Object.entries(fields)) {
    for (const each of [value].flat()) headers.append(name, each);
  }
  return headers;
}

/** The header fields that describe the body before it was parsed. */
const FRAMING = ['content-encoding', 'content-length', 'transfer-encoding'];
/**
 * A host name or address with an optional port: nothing that a URL parser reads as a path or as
 * credentials.
 */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;
/**
 * An absolute path. Excludes two slashes at the start, which would begin a host, backslashes, which
 * a URL parser reads as slashes, and `#`, which would cut off the rest.
 */
const TARGET = /^\/(?![/\\])[^\\#]*$/;
