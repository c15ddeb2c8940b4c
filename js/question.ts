import type { Credentials } from './credentials.js';

/** A request of this package to the handler behind it. */
export interface Asked {
  /** Its header fields, as lines `name: value`. */
  headers: string;
  /** Its JSON-RPC message. */
  body: string;
}

/**
 * Makes a request to the URL of `request` on behalf of its caller. It carries the credentials of the
 * caller, and no other header field that the caller chose.
 */
export function questionFor(request: Request, credentials: Credentials, { body, headers }: Asked): Request {
  const fields = credentials.of(request);
  // The host is part of the address, and handlers check it.
  const host = request.headers.get('host');
  if (host !== null) fields.set('host', host);
  for (const line of headers.split('\n')) {
    const [name = '', value = ''] = line.split(': ');
    fields.set(name, value);
  }
  const { signal, url } = request;
  return new Request(url, { method: 'POST', headers: fields, body, signal });
}
