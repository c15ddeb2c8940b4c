import type { QuestionRequest } from '../wasm/server/bindings.js';
import type { Credentials } from '../web/credentials.js';

/**
 * Creates a request to the URL of `request` on behalf of its caller. It carries only
 * the credentials and the host of the caller's header fields.
 */
export function serverRequest(
  request: Request,
  credentials: Credentials,
  { body, headers }: QuestionRequest,
): Request {
  const fields = credentials.of(request);
  // The host is part of the address, and handlers check it.
  const host = request.headers.get('host');
  if (host !== null) fields.set('host', host);
  for (const line of headers.split('\n')) {
    const [name = '', value = ''] = line.split(': ');
    fields.set(name, value);
  }
  const { signal, url } = request;
  return onBehalfOf(request, new Request(url, { method: 'POST', headers: fields, body, signal }));
}

/** Returns a request like `request` whose only credentials are these header fields. */
export function withCredentials(request: Request, credentials: Headers): Request {
  const headers = new Headers(credentials);
  const host = request.headers.get('host');
  if (host !== null) headers.set('host', host);
  const { signal, url } = request;
  return onBehalfOf(request, new Request(url, { headers, signal }));
}

/** Records that `sent` is sent on behalf of the client of `request`; returns `sent`. */
export function onBehalfOf(request: Request, sent: Request): Request {
  clientRequests.set(sent, clientRequestOf(request));
  return sent;
}

/** Returns the client's request on whose behalf `request` is sent, or else `request` itself. */
export function clientRequestOf(request: Request): Request {
  return clientRequests.get(request) ?? request;
}

const clientRequests = new WeakMap<Request, Request>();
