import type { FetchHandler } from '../handler/handler.js';
import type { Exchange } from '../wasm/server/bindings.js';
import { type BodyStart, replay } from '../web/request-body.js';

/** An HTTP request that is being handled. */
export interface Inbound {
  request: Request;
  /** Its body, if it was read. */
  body?: BodyStart;
  /** The arguments that the host passed after the request. */
  rest: unknown[];
}

/** A request that the core checks. */
export interface InboundExchange extends Inbound {
  core: Exchange;
  /** Its header fields, lines `name: value`. Each core that reads them gets this text. */
  headerLines: string;
}

/** Passes a request to the handler unchanged. */
export function pass(
  handler: FetchHandler,
  { body, request, rest }: Inbound,
): Response | Promise<Response> {
  return handler(body === undefined ? request : replay(request, body), ...rest);
}

/**
 * Passes a request to the handler when sessions are served here. The handler gets `session` as
 * `Mcp-Session-Id`, whatever the client sent; undefined: none. `Last-Event-ID` concerns our streams
 * and is not forwarded.
 */
export async function forward(
  handler: FetchHandler,
  inbound: Inbound,
  session: string | undefined,
): Promise<Response> {
  return handler(withSessionId(inbound, session), ...inbound.rest);
}

/**
 * Returns the response for the client: a session id of the handler is replaced by `session`;
 * undefined: removed.
 */
export function withClientSession(response: Response, session: string | undefined): Response {
  if (!response.headers.has(SESSION)) return response;
  const own = new Response(response.body, response);
  if (session === undefined) own.headers.delete(SESSION);
  else own.headers.set(SESSION, session);
  return own;
}

/** Returns a refusal after cancelling the rest of the request's body. */
export async function refuse(answer: Response, { body }: Inbound): Promise<Response> {
  await body?.rest?.cancel();
  return answer;
}

function withSessionId({ body, request }: Inbound, session: string | undefined): Request {
  const original = body === undefined ? request : replay(request, body);
  const { headers: own, method, signal, url } = request;
  const sessionFields = [...own.keys()].filter((name) => SESSION_FIELDS.test(name));
  if (session === undefined && sessionFields.length === 0) return original;
  const headers = new Headers(own);
  for (const name of sessionFields) headers.delete(name);
  if (session !== undefined) headers.set(SESSION, session);
  // If the host has read the body itself, it passes it on as an argument after the request.
  return original.bodyUsed
    ? new Request(url, { method, headers, signal })
    : new Request(original, { headers });
}

const SESSION = 'mcp-session-id';
/**
 * `Mcp-Session-Id` and `Last-Event-ID`, also with `_` for `-`, as servers on CGI and WSGI read
 * them.
 */
const SESSION_FIELDS = /^(mcp[\W_]session[\W_]id|last[\W_]event[\W_]id)$/;
