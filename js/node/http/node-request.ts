import type { IncomingHttpHeaders } from 'node:http';
import type { IncomingBody } from './incoming-body.js';
import type { NodeRequest } from './node-handler.js';

/**
 * The request as the web has it; undefined where its host and its target make no address.
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
  // Node takes a stream as a body only with `duplex`, which the type does not know.
  return new Request(url, {
    method,
    headers,
    signal,
    body: content,
    duplex: 'half',
  } as RequestInit);
}

/** The URL of a request whose host is one, and whose target is a path; undefined: they make no address, or another one than they say. */
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

/** What described the body before it was parsed. */
const FRAMING = ['content-encoding', 'content-length', 'transfer-encoding'];
/** A name or an address, and perhaps a port: nothing that would be read as a part of a path, or as credentials. */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;
/** A path from the root. Two slashes, or a backslash in place of one, would begin a host; what follows a `#` would be cut off. */
const TARGET = /^\/(?![/\\])[^\\#]*$/;
