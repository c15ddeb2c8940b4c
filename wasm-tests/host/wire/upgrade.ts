import { get, type IncomingMessage } from 'node:http';

/** Requests a WebSocket with these header fields; resolves with the HTTP status. */
export function upgradeStatus(url: string, headers: Record<string, string>): Promise<number> {
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
  const key = { 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' };
  return new Promise((resolve, reject) => {
    const asked = get(url, { headers: { ...upgrade, ...key, ...headers } });
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
