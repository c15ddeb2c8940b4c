import { LISTEN_HEADERS, listenBody } from '../wasm-tests/host/listen.ts';

/** The URI of a resource. All URIs have the same length, so all frames of a stream have, too. */
export function resourceUri(index: number): string {
  return `bench://resource/${String(index).padStart(7, '0')}`;
}

/** The id of a stream's listen request as JSON text, one of `ids` different ones. */
export function subscriptionId(stream: number, ids: number): string {
  const index = stream % ids;
  return index % 2 === 0 ? `${index / 2 + 1}` : `"listen:${(index - 1) / 2}"`;
}

/** The body of a listen request for these resources. */
export function listenFor(uris: string[], id: string): string {
  return listenBody({ resourceSubscriptions: uris }, id);
}

/** A listen request for a handler in this process. */
export function listenRequest(body: string): Request {
  return new Request('http://localhost/mcp', { method: 'POST', headers: LISTEN_HEADERS, body });
}
