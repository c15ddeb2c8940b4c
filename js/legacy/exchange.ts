import { type BodyStart, replay } from '../body.js';
import type { FetchHandler } from '../handler.js';

/** One HTTP request on its way through. */
export interface Exchange {
  request: Request;
  /** Its header fields as lines `name: value`. */
  headers: string;
  /** Its body, where it was read. */
  body?: BodyStart;
  /** What the host passed beside it. */
  rest: unknown[];
}

/** Hands a request to the handler behind, as it came. */
export function pass(handler: FetchHandler, { body, request, rest }: Exchange): Response | Promise<Response> {
  return handler(body === undefined ? request : replay(request, body), ...rest);
}

/** The same in a session that the handler knows by an id of its own: it hears that one, the client that of the session. */
export async function passInSession(
  handler: FetchHandler,
  { body, request, rest }: Exchange,
  { session, behind }: { session: string; behind: string },
): Promise<Response> {
  const asItCame = body === undefined ? request : replay(request, body);
  const headers = new Headers(request.headers);
  headers.set('mcp-session-id', behind);
  const response = await handler(new Request(asItCame, { headers }), ...rest);
  if (!response.headers.has('mcp-session-id')) return response;
  const named = new Response(response.body, response);
  named.headers.set('mcp-session-id', session);
  return named;
}

/** Refuses a request, whose body may not have been read to its end. */
export async function refuse(answer: Response, { body }: Exchange): Promise<Response> {
  await body?.rest?.cancel();
  return answer;
}
