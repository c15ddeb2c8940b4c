import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuthInfo } from '../../auth/identity.js';
import { guarded, report } from '../../observe/on-error.js';
import { IncomingBody } from './incoming-body.js';
import { requestOf } from './node-request.js';
import { writeResponse } from './node-response.js';
import { UnsentResponses } from './unsent-responses.js';

/** What answers web requests: what `createListenHandler` returns, or any other object with such a `fetch`. */
export interface WebHandler {
  /**
   * Answers one request. `authInfo` is the `auth` of the request, where middleware has set that.
   */
  fetch: (request: Request, options?: { authInfo?: AuthInfo }) => Response | Promise<Response>;
}

/** How {@link toNodeHandler} tells of trouble. */
export interface NodeHandlerOptions {
  /**
   * Called with what `fetch` throws, and with an error for each body that other code has already
   * read.
   *
   * @default console.error
   */
  onError?: (error: Error) => void;
}

/** A request of `node:http`, with what Express and its middleware add. */
export interface NodeRequest extends IncomingMessage {
  /** Where a router has cut `url`: all of it. */
  originalUrl?: string;
  /** What a parser has made of the body. */
  body?: unknown;
  /** What a middleware says of a verified token. */
  auth?: unknown;
}

/**
 * A listener for the requests of `node:http`, and of frameworks on top of it. `parsedBody` is the body where something else than
 * `body` of the request has it; a function, as Express has there, is none. The promise is fulfilled when the answer was sent or its client is
 * gone, and never rejects.
 */
export interface NodeHandler {
  (request: NodeRequest, response: ServerResponse, parsedBody?: unknown): Promise<void>;
  /**
   * Waits until every answer that has begun is sent or its client is gone, for `ms` milliseconds at most. Resolves with whether
   * that is so; what is not sent by then goes on. `close` of a server waits for no reader, so a process calls this after it and
   * before it exits: `await server.close(); await handler.flushed(5_000)`.
   */
  flushed(ms: number): Promise<boolean>;
}

/**
 * Serves `server` where a request listener of Node is wanted: `createServer(toNodeHandler(server))`, or `app.all('/mcp',
 * toNodeHandler(server))` of Express.
 *
 * A chunk of an answer is asked for when the one before it has left the process: nothing is
 * buffered for a slow client. A client that goes away aborts its request, and cancels the answer.
 * The body reaches `server` byte for byte, also where `express.json()` stands before it, except for
 * numbers which that has rounded. `auth` of the request goes to the handler behind, to `principal`
 * and to `authorize` as `{ authInfo }`.
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
  const tell = guarded(onError);
  const answers = new UnsentResponses();
  const handle = async (
    incoming: NodeRequest,
    outgoing: ServerResponse,
    parsedBody?: unknown,
  ): Promise<void> => {
    answers.enter(outgoing);
    const gone = new AbortController();
    const body = new IncomingBody(incoming, parsedBody);
    const held: { request: Request | undefined } = { request: undefined };
    outgoing.once('close', () => {
      gone.abort();
      // Until now: Node passes an abort on to a request only while somebody holds that.
      held.request = undefined;
    });
    outgoing.on('error', () => gone.abort());
    if (outgoing.closed) gone.abort();
    try {
      held.request = requestOf(incoming, body, gone.signal);
      const response = await answer(server, incoming, held.request);
      // The rest of a body that was late is not waited for either.
      if (response.status === REQUEST_TIMEOUT) outgoing.setHeader('connection', 'close');
      await writeResponse(response, outgoing);
    } catch (error) {
      if (!gone.signal.aborted) fail(outgoing, error as Error, tell);
    }
    body.discard();
  };
  return Object.assign(handle, { flushed: (ms: number) => answers.sent(ms) });
}

async function answer(
  server: WebHandler,
  { auth }: NodeRequest,
  request?: Request,
): Promise<Response> {
  if (request === undefined)
    return new Response('the request has no usable host or target', { status: 400 });
  return auth === undefined
    ? server.fetch(request)
    : server.fetch(request, { authInfo: auth as AuthInfo });
}

/** An answer that has begun breaks off, so that nobody takes it for the whole. */
function fail(outgoing: ServerResponse, error: Error, tell: (error: Error) => void): void {
  tell(error);
  if (outgoing.headersSent) outgoing.destroy();
  else outgoing.writeHead(500, { 'content-type': 'text/plain' }).end('Internal Server Error');
}

const REQUEST_TIMEOUT = 408;
