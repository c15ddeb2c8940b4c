import { LISTEN_HEADERS, listenBody } from '../wasm-tests/host/listen.ts';

/** The URI of a resource: all have the same length, so all frames of a stream have. */
export function resourceUri(index: number): string {
  return `bench://resource/${String(index).padStart(7, '0')}`;
}

/**
 * The id of a listen request as JSON text: clients mint few distinct ones, and `ids` says how few.
 */
export function subscriptionId(stream: number, ids: number): string {
  const index = stream % ids;
  return index % 2 === 0 ? `${index / 2 + 1}` : `"listen:${(index - 1) / 2}"`;
}

/** The body of a listen for some resources. */
export function listenFor(uris: string[], id: string): string {
  return listenBody({ resourceSubscriptions: uris }, id);
}

/** A listen request that no network carries. */
export function listenRequest(body: string): Request {
  return new Request('http://localhost/mcp', { method: 'POST', headers: LISTEN_HEADERS, body });
}
