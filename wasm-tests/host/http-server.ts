import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { isIPv6 } from 'node:net';
import { afterEach } from 'vitest';
import { portOf } from './port.ts';

const servers: Server[] = [];

/**
 * Serves `listener` on a free port of a host of this machine until the test ends; resolves with the
 * origin.
 */
export async function served(listener: RequestListener, host = '127.0.0.1'): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await once(server.listen(0, host), 'listening');
  return `http://${isIPv6(host) ? `[${host}]` : host}:${portOf(server)}`;
}

afterEach(async () => {
  for (const server of servers.splice(0)) {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }
});
