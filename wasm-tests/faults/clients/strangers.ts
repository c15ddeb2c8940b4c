import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { LISTEN_HEADERS, listenBody } from '../../host/listen.ts';

/** What a client does that is no good one. It resolves when it has done it. */
export type Manner = (socket: Socket) => void | Promise<void>;

/** A client with bad manners asks for a stream. */
export async function stranger(origin: string, filter: unknown, manner: Manner): Promise<Socket> {
  const { hostname, port, host } = new URL(origin);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  socket.on('error', () => socket.destroy());
  const body = listenBody(filter);
  const headers = { ...LISTEN_HEADERS, host, 'content-length': String(Buffer.byteLength(body)) };
  const head = Object.entries(headers).map((field) => field.join(': '));
  socket.write(['POST /mcp HTTP/1.1', ...head, '', body].join('\r\n'));
  await manner(socket);
  return socket;
}

/** Leaves when it has sent its request. */
export const abortsAtOnce: Manner = async (socket) => {
  await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
  socket.destroy();
};

/** Leaves while the bus is asked. */
export const abortsBeforeTheAck: Manner = async (socket) => {
  await setTimeout(10);
  socket.resetAndDestroy();
};

/** Leaves between the acknowledgment and the first event. */
export const abortsAfterTheAck: Manner = async (socket) => {
  await heard(socket, 'acknowledged');
  socket.destroy();
};

/** Resets the connection with half of a message in its hands. */
export const resetsInAMessage: Manner = async (socket) => {
  await heard(socket, '"method"');
  socket.pause();
  await setTimeout(500);
  socket.resetAndDestroy();
};

/** Says that it will write no more, and reads on. */
export const halfCloses: Manner = async (socket) => {
  await heard(socket, 'acknowledged');
  socket.end();
  socket.resume();
};

/** Reads nothing. */
export const neverReads: Manner = (socket) => {
  socket.pause();
};

/** Reads one byte each second. */
export const readsOneByteASecond: Manner = (socket) => {
  socket.pause();
  const reading = setInterval(() => socket.read(1), 1_000);
  socket.on('close', () => clearInterval(reading));
};

/** Resolves when the socket has said something with `text` in it, or is gone. */
function heard(socket: Socket, text: string): Promise<void> {
  return new Promise((resolve) => {
    let all = '';
    const hear = (chunk: Buffer): void => {
      all += chunk.toString('latin1');
      if (!all.includes(text)) return;
      socket.off('data', hear);
      resolve();
    };
    socket.on('data', hear).once('close', () => resolve());
  });
}
