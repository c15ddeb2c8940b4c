import type { ServerResponse } from 'node:http';
import type { AuthInfo } from '../../auth/identity.js';
import { report, safeOnError } from '../../observe/on-error.js';
import { IncomingBody, type NodeRequest } from './incoming-body.js';
import { requestOf } from './request.js';
import { writeResponse } from './response.js';
import { UnsentResponses } from './unsent-responses.js';

/**
 * A handler of web requests: the result of `createListenHandler`, or any object with such a
 * `fetch`.
 */
export interface WebHandler {
  /** Handles one request. `authInfo` is the `auth` of the request, if middleware has set it. */
  fetch: (request: Request, options?: { authInfo?: AuthInfo }) => Response | Promise<Response>;
}

/** Options of {@link toNodeHandler}. */
export interface NodeHandlerOptions {
  /**
   * Called with every error that `fetch` throws, and with an error for each body that other code
   * has already read.
   *
   * @default console.error
   */
  onError?: (error: Error) => void;
}

/**
 * A listener for the requests of `node:http` and of frameworks built on it. `parsedBody` is the
 * body, if it is not in `body` of the request; a function there, as Express passes, is ignored. The
 * promise resolves when the response was sent or its client has disconnected, and never rejects.
 */
export interface NodeHandler {
  (request: NodeRequest, response: ServerResponse, parsedBody?: unknown): Promise<void>;
  /**
   * Waits until every response that has begun was sent or its client has disconnected, for `ms`
   * milliseconds at most. Resolves with whether this happened in time; the remaining responses
   * continue. `close` of a server does not wait for slow clients, so call this after it and before
   * the process exits: `await server.close(); await handler.flushed(5_000)`.
   */
  flushed(ms: number): Promise<boolean>;
}

/**
 * Returns a Node request listener that serves `server`: `createServer(toNodeHandler(server))`, or
 * `app.all('/mcp', toNodeHandler(server))` in Express.
 *
 * The listener writes a chunk of the response once the previous one has left the process: nothing
 * is buffered for a slow client. The events that are published in one turn of the event loop are
 * one chunk of a listen stream. A client that disconnects aborts its request and cancels the
 * response. The body reaches `server` byte for byte, even after `express.json()`, except for
 * numbers that `express.json()` has rounded. `CONNECT` and `TRACE` get 405. `auth` of the request
 * is passed as `{ authInfo }` to the wrapped handler, to `principal` and to `authorize`.
 *
 * @example
 * ```ts
 * createServer(toNodeHandler(server)).listen(3_000);
 * ```
 */
export function toNodeHandler(
  server: WebHandler,
  { onError = report }: NodeHandlerOptions = {},
): NodeHandler {
  const reportError = safeOnError(onError);
  const responses = new UnsentResponses();
  const handle = async (
    incoming: NodeRequest,
    outgoing: ServerResponse,
    parsedBody?: unknown,
  ): Promise<void> => {
    responses.track(outgoing);
    const gone = new AbortController();
    const body = new IncomingBody(incoming, parsedBody);
    const held: { request: Request | undefined } = { request: undefined };
    outgoing.once('close', () => {
      gone.abort();
      // The request is referenced until here: Node propagates an abort to it only while it is
      // referenced.
      held.request = undefined;
    });
    outgoing.on('error', () => gone.abort());
    if (outgoing.closed) gone.abort();
    try {
      const isPossible = !IMPOSSIBLE.includes(incoming.method);
      if (isPossible) held.request = requestOf(incoming, body, gone.signal);
      const response = isPossible ? await respond(server, incoming, held.request) : notAllowed();
      // The rest of a body that arrived too late is not waited for either.
      if (response.status === REQUEST_TIMEOUT) outgoing.setHeader('connection', 'close');
      await writeResponse(response, outgoing);
    } catch (error) {
      if (!gone.signal.aborted) fail(outgoing, error as Error, reportError);
    }
    body.discard();
  };
  return Object.assign(handle, { flushed: (ms: number) => responses.allSent(ms) });
}

async function respond(
  server: WebHandler,
  { auth }: NodeRequest,
  request?: Request,
): Promise<Response> {
  if (request === undefined)
    return new Response('the host or the target of the request is not valid', { status: 400 });
  return auth === undefined
    ? server.fetch(request)
    : server.fetch(request, { authInfo: auth as AuthInfo });
}

function notAllowed(): Response {
  return new Response(null, { status: 405, headers: { allow: 'GET, POST, DELETE' } });
}

/**
 * Responds with 500. A response that has begun is cut off instead, so that the client does not take
 * it for complete.
 */
function fail(outgoing: ServerResponse, error: Error, reportError: (error: Error) => void): void {
  reportError(error);
  if (outgoing.headersSent) outgoing.destroy();
  else outgoing.writeHead(500, { 'content-type': 'text/plain' }).end('Internal Server Error');
}

/** The methods with which no `Request` can be created. */
const IMPOSSIBLE: (string | undefined)[] = ['CONNECT', 'TRACE', 'TRACK'];
const REQUEST_TIMEOUT = 408;
