import type { Asked } from '../wasm/server/bindings.js';
import type { Credentials } from '../web/credentials.js';

/**
 * Makes a request to the URL of `request` on behalf of its caller. It carries the credentials of the
 * caller, and no other header field that the caller chose.
 */
export function questionFor(
  request: Request,
  credentials: Credentials,
  { body, headers }: Asked,
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
  return onBehalf(request, new Request(url, { method: 'POST', headers: fields, body, signal }));
}

/** Returns a request like `request` from a caller that shows no credentials. */
export function anonymous(request: Request): Request {
  const host = request.headers.get('host');
  const { signal, url } = request;
  return onBehalf(request, new Request(url, { headers: host === null ? {} : { host }, signal }));
}

/** Notes that `made` is sent on behalf of the client of `request`; returns `made`. */
export function onBehalf(request: Request, made: Request): Request {
  askers.set(made, askerOf(request));
  return made;
}

/** Returns the request of the client on whose behalf a request is sent; of all others, the request. */
export function askerOf(request: Request): Request {
  return askers.get(request) ?? request;
}

const askers = new WeakMap<Request, Request>();
