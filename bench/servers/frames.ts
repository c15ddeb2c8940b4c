/** The frame of a changed resource for subscription 1, the id of every stream of a yardstick. */
export function frameOf(uri: string): Uint8Array {
  return framesOf([uri]);
}

/** The frames of several changed resources in one chunk. */
export function framesOf(uris: string[]): Uint8Array {
  const messages = uris.map((uri) => ({
    ...{ jsonrpc: '2.0', method: 'notifications/resources/updated' },
    params: { _meta: META, uri },
  }));
  return encoded(messages);
}

/** The first frame of a stream; the yardsticks do not read the requested filter. */
export function acknowledgment(): Uint8Array {
  const params = { _meta: META, notifications: {} };
  const method = 'notifications/subscriptions/acknowledged';
  return encoded([{ jsonrpc: '2.0', method, params }]);
}

/** The header fields of a stream. */
export const STREAM_HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };

function encoded(messages: object[]): Uint8Array {
  const frames = messages.map((message) => `event: message\ndata: ${JSON.stringify(message)}\n\n`);
  return new TextEncoder().encode(frames.join(''));
}

const META = { 'io.modelcontextprotocol/subscriptionId': 1 };
