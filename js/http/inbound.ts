import type { FetchHandler } from '../handler/handler.js';
import type { Exchange } from '../wasm/server/bindings.js';
import { type BodyStart, replay } from '../web/request-body.js';

/** One HTTP request on its way through. */
export interface Inbound {
  request: Request;
  /** Its body, where it was read. */
  body?: BodyStart;
  /** What the host passed beside it. */
  rest: unknown[];
}

/** One that is judged here. */
export interface Judged extends Inbound {
  core: Exchange;
}

/** Hands a request to the handler behind, as it came. */
export function pass(
  handler: FetchHandler,
  { body, request, rest }: Inbound,
): Response | Promise<Response> {
  return handler(body === undefined ? request : replay(request, body), ...rest);
}

/**
 * Hands a request to the handler behind where sessions are served here. The handler gets `session`
 * as `Mcp-Session-Id`, whatever the client wrote there; undefined: none. `Last-Event-ID` concerns
 * streams of ours and is not forwarded.
 */
export async function forward(
  handler: FetchHandler,
  inbound: Inbound,
  session: string | undefined,
): Promise<Response> {
  return handler(readdressed(inbound, session), ...inbound.rest);
}

/**
 * The answer as the client gets it: `session` stands where the handler behind named one of its own;
 * undefined: none.
 */
export function renamed(response: Response, session: string | undefined): Response {
  if (!response.headers.has(SESSION)) return response;
  const named = new Response(response.body, response);
  if (session === undefined) named.headers.delete(SESSION);
  else named.headers.set(SESSION, session);
  return named;
}

/** Refuses a request, whose body may not have been read to its end. */
export async function refuse(answer: Response, { body }: Inbound): Promise<Response> {
  await body?.rest?.cancel();
  return answer;
}

function readdressed({ body, request }: Inbound, session: string | undefined): Request {
  const asItCame = body === undefined ? request : replay(request, body);
  const { headers: own, method, signal, url } = request;
  const named = [...own.keys()].filter((name) => OF_SESSIONS.test(name));
  if (session === undefined && named.length === 0) return asItCame;
  const headers = new Headers(own);
  for (const name of named) headers.delete(name);
  if (session !== undefined) headers.set(SESSION, session);
  // What a host has read itself it hands on beside the request.
  return asItCame.bodyUsed
    ? new Request(url, { method, headers, signal })
    : new Request(asItCame, { headers });
}

const SESSION = 'mcp-session-id';
/** `Mcp-Session-Id` and `Last-Event-ID`, also as servers on CGI and WSGI read them: `_` for `-`. */
const OF_SESSIONS = /^(mcp[\W_]session[\W_]id|last[\W_]event[\W_]id)$/;
