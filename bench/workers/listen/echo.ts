import { DurableObject } from 'cloudflare:workers';

/** An object that sends each message of a hibernating WebSocket back, and does nothing else. */
export class Echo extends DurableObject {
  override fetch(): Response {
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }

  override webSocketMessage(socket: WebSocket, message: string): void {
    socket.send(message);
  }

  override webSocketClose(socket: WebSocket): void {
    socket.close();
  }
}

/** Sends messages over one socket, each after the echo of the one before. */
export async function echo(object: DurableObjectStub, times: number): Promise<void> {
  const { webSocket } = await object.fetch('http://echo/', { headers: { upgrade: 'websocket' } });
  if (webSocket === null) throw new Error('the object accepted no socket');
  webSocket.accept();
  for (let time = 0; time < times; time += 1) {
    const echoed = new Promise((resolve) =>
      webSocket.addEventListener('message', resolve, { once: true }),
    );
    webSocket.send(MESSAGE);
    await echoed;
  }
  webSocket.close();
}

/** About as long as a frame that follows one topic. */
const MESSAGE = 'x'.repeat(100);
