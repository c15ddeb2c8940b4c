import { DurableObject, env } from 'cloudflare:workers';
import { acknowledgment, frameOf, STREAM_HEADERS } from '../frames.ts';
import { uris } from '../uris.ts';

/**
 * A relay written by hand: an object sends each frame, ready for the wire, to one WebSocket a stream, and the
 * edge copies it into the response. It reads no request, filters nothing, keeps nothing and heals nothing.
 */
export class Relay extends DurableObject {
  /** The object hibernates, and finds its sockets again. */
  readonly #sockets = new Set(this.ctx.getWebSockets());

  override fetch(): Response {
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    this.#sockets.add(server);
    return new Response(null, { status: 101, webSocket: client });
  }

  publish(uri: string): void {
    const frame = frameOf(uri);
    for (const socket of this.#sockets) socket.send(frame);
  }

  override webSocketClose(socket: WebSocket): void {
    this.#sockets.delete(socket);
    socket.close();
  }
}

const { RELAY } = env as unknown as { RELAY: DurableObjectNamespace<Relay> };

export default {
  async fetch(request: Request): Promise<Response> {
    const relay = RELAY.getByName('relay');
    if (new URL(request.url).pathname !== '/publish') return stream(relay);
    await Promise.all((await uris(request)).map((uri) => relay.publish(uri)));
    return new Response();
  },
};

async function stream(relay: DurableObjectStub): Promise<Response> {
  const { webSocket } = await relay.fetch('http://relay/', { headers: { upgrade: 'websocket' } });
  if (webSocket === null) return new Response(null, { status: 503 });
  webSocket.binaryType = 'arraybuffer';
  webSocket.accept();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(acknowledgment());
      webSocket.addEventListener('message', ({ data }) => controller.enqueue(new Uint8Array(data as ArrayBuffer)));
    },
    cancel: () => webSocket.close(),
  });
  return new Response(body, { headers: STREAM_HEADERS });
}
