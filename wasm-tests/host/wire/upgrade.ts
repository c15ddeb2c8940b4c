import { get, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** Requests a WebSocket with these header fields; resolves with the HTTP status. */
export function upgradeStatus(url: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = get(url, { headers: { ...UPGRADE, ...headers } });
    const settle = ({ statusCode = 0 }: IncomingMessage): void => {
      resolve(statusCode);
      asked.destroy();
    };
    asked.once('response', settle).once('upgrade', settle).once('error', reject);
  });
}

/** Opens a WebSocket with these header fields. */
export async function openWebSocket(
  url: string,
  headers: Record<string, string>,
): Promise<WebSocket> {
  // Node accepts header fields for a WebSocket; the type does not have them.
  const socket = new WebSocket(url.replace(/^http/, 'ws'), { headers } as unknown as string[]);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  return socket;
}

/**
 * Opens a WebSocket that sends one short text, and then never reads or confirms anything, such as a
 * close.
 */
export function deafWebSocket(url: string, text: string): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const asked = get(url, { headers: UPGRADE });
    asked.once('upgrade', (_, socket) => {
      const bytes = Buffer.from(text);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(bytes.length);
      // A final text frame whose mask is zero (RFC 6455, section 5.2).
      socket.write(Buffer.concat([Buffer.from([0x81, 0xfe]), length, Buffer.alloc(4), bytes]));
      resolve(socket);
    });
    asked.once('error', reject);
  });
}

const UPGRADE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};
