import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { LISTEN_HEADERS, listenBody, WITH_TASKS } from '../../host/listen.ts';
import type { Watched } from './listener.ts';

/** The behavior of a client after its request; resolves once it is done. */
export type Behavior = (socket: Socket) => void | Promise<void>;

/** Requests a stream, and then runs `behave`. */
export async function connectTo(
  origin: string,
  filter: Watched,
  behave: Behavior,
): Promise<Socket> {
  const { hostname, port, host } = new URL(origin);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  socket.on('error', () => socket.destroy());
  const body = listenBody(filter, '1', filter.taskIds === undefined ? {} : WITH_TASKS);
  const headers = { ...LISTEN_HEADERS, host, 'content-length': String(Buffer.byteLength(body)) };
  const head = Object.entries(headers).map((field) => field.join(': '));
  socket.write(['POST /mcp HTTP/1.1', ...head, '', body].join('\r\n'));
  await behave(socket);
  return socket;
}

/** Leaves after its request. */
export const abortsAtOnce: Behavior = async (socket) => {
  await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
  socket.destroy();
};

/** Resets the connection before the acknowledgment. */
export const abortsBeforeTheAck: Behavior = async (socket) => {
  await setTimeout(10);
  socket.resetAndDestroy();
};

/** Leaves between the acknowledgment and the first event. */
export const abortsAfterTheAck: Behavior = async (socket) => {
  await untilReceived(socket, 'acknowledged');
  socket.destroy();
};

/** Resets the connection within a message. */
export const resetsInAMessage: Behavior = async (socket) => {
  await untilReceived(socket, '"method"');
  socket.pause();
  await setTimeout(500);
  socket.resetAndDestroy();
};

/** Waits for the acknowledgment. */
export const listens: Behavior = (socket) => untilReceived(socket, 'acknowledged');

/** Resets the connection as soon as the result begins to arrive. */
export const resetsInTheResult: Behavior = async (socket) => {
  await untilReceived(socket, '"result"');
  socket.resetAndDestroy();
};

/** Ends its side of the connection, and continues reading. */
export const halfCloses: Behavior = async (socket) => {
  await untilReceived(socket, 'acknowledged');
  socket.end();
  socket.resume();
};

/** Reads nothing. */
export const neverReads: Behavior = (socket) => {
  socket.pause();
};

/** Reads one byte each second. */
export const readsOneByteASecond: Behavior = (socket) => {
  socket.pause();
  const reading = setInterval(() => socket.read(1), 1_000);
  socket.on('close', () => clearInterval(reading));
};

/** Resolves once the socket has received `text`, or is closed. */
function untilReceived(socket: Socket, text: string): Promise<void> {
  return new Promise((resolve) => {
    let all = '';
    const receive = (chunk: Buffer): void => {
      all += chunk.toString('latin1');
      if (!all.includes(text)) return;
      socket.off('data', receive);
      resolve();
    };
    socket.on('data', receive).once('close', () => resolve());
  });
}
