import { startWithBus } from './start.ts';

/**
 * Opens a stream in one isolate of a bundle, and publishes in another; returns the methods that the
 * stream received, the acknowledgment first.
 */
export async function framesAcross(bundle: string): Promise<string[]> {
  const workerd = await startWithBus(bundle);
  try {
    const stream = (await listen(`${workerd.edges[0]}/mcp`)).getReader();
    const acknowledged = await stream.read();
    await fetch(`${workerd.edges[1]}/publish`, { method: 'POST' });
    const changed = await stream.read();
    await stream.cancel();
    return methods(`${acknowledged.value}${changed.value}`);
  } finally {
    await workerd.stop();
  }
}

/** The methods of the messages of a stream, and the type of its result. */
export function methods(frames: string): string[] {
  return [...frames.matchAll(/"(?:method|resultType)":"([^"]+)"/g)].map((match) => match[1] ?? '');
}

async function listen(url: string): Promise<ReadableStream<string>> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'subscriptions/listen',
    },
    body: LISTEN,
  });
  if (response.status !== 200 || response.body === null)
    throw new Error(`${response.status}: ${await response.text()}`);
  return response.body.pipeThrough(new TextDecoderStream());
}

const LISTEN = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'subscriptions/listen',
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
    notifications: { toolsListChanged: true },
  },
});
