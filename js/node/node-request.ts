import type { IncomingHttpHeaders } from 'node:http';
import type { IncomingBody } from './incoming-body.js';
import type { NodeRequest } from './node-handler.js';

/**
 * The request as the web has it; undefined where its host and its target make no address.
 *
 * @throws ListenError `body-consumed`.
 */
export function requestOf(incoming: NodeRequest, body: IncomingBody, signal: AbortSignal): Request | undefined {
  const { method = 'GET' } = incoming;
  const url = addressOf(incoming);
  if (url === undefined) return undefined;
  const headers = headersOf(incoming.headers);
  if (method === 'GET' || method === 'HEAD') return new Request(url, { method, headers, signal });
  const content = body.content();
  if (body.isParsed) for (const name of FRAMING) headers.delete(name);
  // Node takes a stream as a body only with `duplex`, which the type does not know.
  return new Request(url, { method, headers, signal, body: content, duplex: 'half' } as RequestInit);
}

function addressOf({ headers, originalUrl, socket, url }: NodeRequest): URL | undefined {
  const target = originalUrl ?? url ?? '';
  const scheme = 'encrypted' in socket ? 'https' : 'http';
  // A target that does not begin so would be read as a part of the host.
  if (!target.startsWith('/')) return undefined;
  const address = `${scheme}://${headers.host ?? 'localhost'}${target}`;
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
