import type { Server } from './server.ts';

/**
 * The limit: streams that hold nothing but their controllers, and frames that are encoded beforehand, the
 * same bytes for everybody. It reads no request, filters nothing and promises nothing.
 */
export function enqueueServer(): Server {
  const controllers: ReadableStreamDefaultController<Uint8Array>[] = [];
  const frames = new Map<string, Uint8Array>();
  return {
    fetch: async () => {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controllers.push(controller);
          controller.enqueue(ACKNOWLEDGED);
        },
      });
      return new Response(body);
    },
    publish: (uri) => {
      const frame = frames.get(uri) ?? encoded(uri);
      frames.set(uri, frame);
      for (const controller of controllers) controller.enqueue(frame);
    },
  };
}

function encoded(uri: string): Uint8Array {
  const params = { _meta: { 'io.modelcontextprotocol/subscriptionId': 1 }, uri };
  const message = { jsonrpc: '2.0', method: 'notifications/resources/updated', params };
  return new TextEncoder().encode(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}

const ACKNOWLEDGED = new TextEncoder().encode('event: message\ndata: {}\n\n');
