import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import { portOf } from './port.ts';

/** Responds to requests, as on every other host. */
export type Fetch = (request: Request) => Promise<Response>;

/** A running HTTP server of Node. */
export interface NodeServer {
  /** The origin, on a free port of 127.0.0.1. */
  origin: string;
  /** Ends all connections. */
  cut(): void;
  /** Stops the server and its connections. */
  stop(): Promise<void>;
}

/** Serves `fetch` on an HTTP server of Node. */
export async function serveOnNode(fetch: Fetch): Promise<NodeServer> {
  const server = createServer((incoming, outgoing) => void exchange(fetch, incoming, outgoing));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const closed = once(server, 'close');
  return {
    origin: `http://127.0.0.1:${portOf(server)}`,
    cut: () => server.closeAllConnections(),
    async stop() {
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Keeps each request until its connection ends: Node does not abort a collected signal. */
const underWay = new Set<Request>();

async function exchange(
  fetch: Fetch,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  const request = requestOf(incoming, gone.signal);
  underWay.add(request);
  outgoing.once('close', () => {
    gone.abort();
    underWay.delete(request);
  });
  const response = await fetch(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers)).flushHeaders();
  if (response.body === null) outgoing.end();
  // The pipeline fails when the client leaves, which also ends the stream.
  else
    await pipeline(Readable.fromWeb(response.body as NodeReadableStream), outgoing).catch(() => {});
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { headers, method = 'GET', url = '/' } = incoming;
  const fields = Object.entries(headers).map(([name, value]): [string, string] => [
    name,
    String(value),
  ]);
  const body = method === 'GET' || method === 'HEAD' ? null : Readable.toWeb(incoming);
  // Node requires `duplex` for a stream as a body; the type does not have it.
  const init = { method, headers: fields, body, signal, duplex: 'half' };
  return new Request(`http://${headers.host}${url}`, init as unknown as RequestInit);
}
