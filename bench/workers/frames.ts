/**
 * The frame that says that a resource changed, for subscription 1, which is every stream of the
 * yardsticks.
 */
export function frameOf(uri: string): Uint8Array {
  const params = { _meta: { 'io.modelcontextprotocol/subscriptionId': 1 }, uri };
  return encoded({ jsonrpc: '2.0', method: 'notifications/resources/updated', params });
}

/** The first frame of a stream: the yardsticks do not read what is asked for. */
export function acknowledgment(): Uint8Array {
  const params = { _meta: { 'io.modelcontextprotocol/subscriptionId': 1 }, notifications: {} };
  return encoded({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params });
}

/** The header fields of a stream. */
export const STREAM_HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };

function encoded(message: object): Uint8Array {
  return new TextEncoder().encode(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}
