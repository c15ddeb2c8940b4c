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

/** Refuses a request, whose body may not have been read to its end. */
export async function refuse(answer: Response, { body }: Exchange): Promise<Response> {
  await body?.rest?.cancel();
  return answer;
}
