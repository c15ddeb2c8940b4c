import type { Credentials } from './credentials.js';

/** What is asked of the handler behind. */
export interface Asked {
  /** Its header fields, as lines `name: value`. */
  headers: string;
  /** Its JSON-RPC message. */
  body: string;
}

/**
 * A request of our own to the address of `request`, on behalf of its caller: the credentials come along, and nothing
 * else that the caller chose.
 */
export function questionFor(request: Request, credentials: Credentials, { body, headers }: Asked): Request {
  const fields = credentials.of(request);
  // It is a part of the address, and handlers check it.
  const host = request.headers.get('host');
  if (host !== null) fields.set('host', host);
  for (const line of headers.split('\n')) {
    const [name = '', value = ''] = line.split(': ');
    fields.set(name, value);
  }
  const { signal, url } = request;
  return new Request(url, { method: 'POST', headers: fields, body, signal });
}
