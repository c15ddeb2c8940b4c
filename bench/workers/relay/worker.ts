import { DurableObject, env } from 'cloudflare:workers';
import { acknowledgment, framesOf, STREAM_HEADERS } from '../../servers/frames.ts';
import { openStream } from '../open-stream.ts';
import { uris } from '../uris.ts';

/**
 * A minimal relay: an object sends each ready frame to one WebSocket for each stream or isolate,
 * and the edge copies it into the responses; or all frames of a wave as one chunk. It reads no
 * request, filters nothing, stores nothing and heals nothing.
 */
export class Relay extends DurableObject {
  /** The sockets, which survive hibernation. */
  readonly #sockets = new Set(this.ctx.getWebSockets());

  override fetch(): Response {
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    this.#sockets.add(server);
    return new Response(null, { status: 101, webSocket: client });
  }

  publish(uris: string[]): void {
    const frames = framesOf(uris);
    for (const socket of this.#sockets) socket.send(frames);
  }

  override webSocketClose(socket: WebSocket): void {
    this.#sockets.delete(socket);
    socket.close();
  }
}

const { MERGES, RELAY, SOCKETS } = env as unknown as {
  /** Whether the frames of a wave are one chunk. */
  MERGES: 'true' | 'false';
  RELAY: DurableObjectNamespace<Relay>;
  SOCKETS: 'auto' | 'each';
};

export default {
  async fetch(request: Request): Promise<Response> {
    const relay = RELAY.getByName('relay');
    if (new URL(request.url).pathname !== '/publish') return stream(relay);
    const changed = await uris(request);
    if (MERGES === 'true') await relay.publish(changed);
    else await Promise.all(changed.map((uri) => relay.publish([uri])));
    return new Response();
  },
};

async function stream(relay: DurableObjectStub): Promise<Response> {
  return SOCKETS === 'each' ? alone(relay) : shared(relay);
}

async function alone(relay: DurableObjectStub): Promise<Response> {
  const webSocket = await socketTo(relay);
  if (webSocket === undefined) return new Response(null, { status: 503 });
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(acknowledgment());
      webSocket.addEventListener('message', ({ data }) =>
        controller.enqueue(new Uint8Array(data as ArrayBuffer)),
      );
    },
    cancel: () => webSocket.close(),
  });
  return new Response(body, { headers: STREAM_HEADERS });
}

/** All streams of the isolate copy what arrives on the socket of the first one, which must stay. */
async function shared(relay: DurableObjectStub): Promise<Response> {
  line ??= socketTo(relay).then((webSocket) => {
    webSocket?.addEventListener('message', ({ data }) => {
      const chunk = new Uint8Array(data as ArrayBuffer);
      for (const stream of streams) stream.enqueue(chunk);
    });
  });
  await line;
  return openStream(streams);
}

async function socketTo(relay: DurableObjectStub): Promise<WebSocket | undefined> {
  const { webSocket } = await relay.fetch('http://relay/', { headers: { upgrade: 'websocket' } });
  if (webSocket === null) return undefined;
  webSocket.binaryType = 'arraybuffer';
  webSocket.accept();
  return webSocket;
}

const streams = new Set<ReadableStreamDefaultController<Uint8Array>>();
let line: Promise<void> | undefined;
