import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { portOf } from '../host/port.ts';
import { Elder } from './elder.ts';

/** The response of the player to a listen. */
interface Part {
  status?: number;
  headers?: Record<string, string>;
  /** Texts to write and milliseconds to wait, in turn. */
  steps?: (string | number)[];
  /** Whether the response stays open after the steps. */
  held?: boolean;
  /** The `Authorization` without which a request gets a 401. */
  authorization?: string;
}

/** A server for pages of any origin that plays the part in the query of each request. */
export interface Player {
  url: string;
  stop(): void;
}

/** Starts a player. It forwards `/worker/N/` to edge isolate N, whose routes no page may read. */
export async function startPlayer(workers: string[]): Promise<Player> {
  const elder = new Elder(workers[0] ?? '');
  const server = createServer((request, response) => {
    respond(request, response, workers, elder).catch((error: unknown) =>
      response.writeHead(500).end(String(error)),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  workers: string[],
  elder: Elder,
): Promise<void> {
  const { pathname, search, searchParams } = new URL(request.url ?? '', 'http://player');
  response.setHeader('access-control-allow-origin', '*');
  response.setHeader('access-control-expose-headers', 'Retry-After, Mcp-Session-Id');
  if (request.method === 'OPTIONS') {
    response.setHeader(
      'access-control-allow-headers',
      request.headers['access-control-request-headers'] ?? '',
    );
    response.setHeader('access-control-allow-methods', 'GET, POST, DELETE');
    response.end();
  } else if (pathname === '/held') {
    response.end(String(held.get(searchParams.get('name') ?? '') ?? 0));
  } else if (pathname === '/requests') {
    response.end(elder.requests(searchParams.get('name') ?? ''));
  } else if (pathname === '/cut') {
    elder.cut(searchParams.get('name') ?? '');
    response.end();
  } else if (pathname.startsWith('/elder/')) {
    await elder.respond(pathname.slice('/elder/'.length), searchParams, request, response);
  } else if (pathname.startsWith('/worker/')) {
    const [, , worker = '', ...path] = pathname.split('/');
    const body = await textOf(request);
    const url = `${workers[Number(worker)]}/${path.join('/')}${search}`;
    const forwarded = await fetch(url, { method: 'POST', body });
    response.writeHead(forwarded.status).end(await forwarded.text());
  } else {
    await play(
      pathname.slice(1),
      JSON.parse(searchParams.get('part') ?? '{}') as Part,
      request,
      response,
    );
  }
}

async function play(
  name: string,
  part: Part,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { status = 200, headers = {}, steps = [], authorization } = part;
  if (authorization !== undefined && request.headers.authorization !== authorization) {
    response.writeHead(401).end();
    return;
  }
  if (request.headers['mcp-method'] === 'server/discover') {
    const { id } = JSON.parse(await textOf(request)) as { id: string };
    response.writeHead(200, { 'content-type': 'application/json' }).end(discovered(id));
    return;
  }
  response.writeHead(status, { 'content-type': 'text/event-stream', ...headers }).flushHeaders();
  count(name, 1);
  response.once('close', () => count(name, -1));
  for (const step of steps) {
    if (typeof step === 'number') await sleep(step);
    else response.write(step);
  }
  if (part.held !== true) response.end();
}

async function textOf(request: IncomingMessage): Promise<string> {
  return (await request.setEncoding('utf8').toArray()).join('');
}

/** The response to `server/discover`. */
function discovered(id: string): string {
  const result = { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: {} };
  return JSON.stringify({ jsonrpc: '2.0', id, result });
}

/** The open responses of each name. */
const held = new Map<string, number>();

function count(name: string, more: 1 | -1): void {
  held.set(name, (held.get(name) ?? 0) + more);
}
