/** The frame of a changed resource for subscription 1, the id of every stream of a yardstick. */
export function frameOf(uri: string): Uint8Array {
  const params = { _meta: { 'io.modelcontextprotocol/subscriptionId': 1 }, uri };
  return encoded({ jsonrpc: '2.0', method: 'notifications/resources/updated', params });
}

/** The first frame of a stream; the yardsticks do not read the requested filter. */
export function acknowledgment(): Uint8Array {
  const params = { _meta: { 'io.modelcontextprotocol/subscriptionId': 1 }, notifications: {} };
  return encoded({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params });
}

/** The header fields of a stream. */
export const STREAM_HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };

function encoded(message: object): Uint8Array {
  return new TextEncoder().encode(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}
