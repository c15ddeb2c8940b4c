import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { InMemoryBus, type ListenHandler } from 'mcp-listen';
import { expect } from 'vitest';
import { served } from '../../host/http-server.ts';
import { LISTEN_HEADERS, listenBody } from '../../host/listen.ts';
import { serving } from '../serving.ts';

const URIS = 200;
/** 40 MB in all: more than the buffers of a connection hold. */
const ROUNDS = 100;

/**
 * Publishes `most` updates to a client that reads nothing until then, under an adapter to
 * `node:http`; returns how many of them the client receives.
 */
export async function readLate(adapter: (server: ListenHandler) => RequestListener) {
  const bus = new InMemoryBus();
  const server = serving({
    bus,
    keepAliveMs: 0,
    timeouts: { writeMs: 0 },
    limits: { maxRequestBodySize: 1_000_000 },
  });
  const resourceSubscriptions = Array.from(
    { length: URIS },
    (_, index) => `note://${index}/${'x'.repeat(2_000)}`,
  );
  const client = await asking(await served(adapter(server)), listenBody({ resourceSubscriptions }));
  await expect.poll(() => bus.attached).toBe(1);
  for (let round = 0; round < ROUNDS; round += 1) {
    await server.bus.publishAll(
      resourceSubscriptions.map((uri) => ({ kind: 'resource_updated', uri })),
    );
    await new Promise(setImmediate);
  }
  const closed = server.close();
  const body = await text(client.resume());
  await closed;
  return {
    received: body.split('notifications/resources/updated').length - 1,
    most: URIS * ROUNDS,
  };
}

/** A connection that has sent a request, and reads nothing before it is resumed. */
export async function asking(origin: string, body: string, headers = {}): Promise<Socket> {
  const { host, port } = new URL(origin);
  const socket = connect(Number(port), '127.0.0.1');
  await once(socket, 'connect');
  socket.pause();
  const fields = Object.entries({
    ...LISTEN_HEADERS,
    ...headers,
    host,
    connection: 'close',
    'content-length': body.length,
  });
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.write(`POST /mcp HTTP/1.1\r\n${head}\r\n${body}`);
  return socket;
}
