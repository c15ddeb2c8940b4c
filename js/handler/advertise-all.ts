import { offeredAnswer, ProbeQuestion, questionOf } from '../wasm/server/bindings.js';
import type { FetchHandler } from './handler.js';
import { type ResponseLimits, unanswered, wholeBody } from './upstream-response.js';

/** How answers of the handler are read. */
export interface Reading {
  readonly limits: ResponseLimits;
  readonly onError: (error: Error) => void;
}

/**
 * Wraps the handler so that its answers to `server/discover` announce changes of everything it
 * offers.
 */
export function advertisingAll(handler: FetchHandler, reading: Reading): FetchHandler {
  const fields = questionOf(ProbeQuestion.Discover).headers.split('\n');
  return async (request, ...rest) => {
    const isDiscover = fields.includes(`mcp-method: ${request.headers.get('mcp-method')}`);
    const response = await handler(request, ...rest);
    return isDiscover && response.ok ? withAllCapabilities(request, response, reading) : response;
  };
}

/** Rewrites an answer with capabilities to announce changes of everything it offers. */
export function withAllCapabilities(
  request: Request,
  answer: Response,
  reading: Reading,
): Promise<Response> {
  return rewritten(request, answer, reading, true);
}

/** Rewrites an answer with capabilities to announce no changes, because no streams are held. */
export function withoutCapabilities(
  request: Request,
  answer: Response,
  reading: Reading,
): Promise<Response> {
  return rewritten(request, answer, reading, false);
}

async function rewritten(
  request: Request,
  answer: Response,
  reading: Reading,
  holdsStreams: boolean,
): Promise<Response> {
  const response = await buffered(request, answer, reading);
  if (!response.ok) return response;
  const bytes = new Uint8Array(await response.arrayBuffer());
  const text = offeredAnswer(bytes, holdsStreams);
  if (text !== undefined) response.headers.set('content-type', 'application/json');
  return new Response(text ?? bytes, { status: response.status, headers: response.headers });
}

/** Returns the response to `request` with its body read, a 502 or 504 if it exceeds the limits. */
export async function buffered(
  request: Request,
  answer: Response,
  { limits, onError }: Reading,
): Promise<Response> {
  try {
    const bytes = await wholeBody(answer, limits);
    const headers = new Headers(answer.headers);
    // These fields describe the original body, which has been read and decoded.
    for (const name of FRAMING) headers.delete(name);
    return new Response(bytes, { status: answer.status, headers });
  } catch (error) {
    // A client that has disconnected is not an error.
    if (!request.signal.aborted) onError(error as Error);
    return unanswered(error);
  }
}

const FRAMING = ['content-encoding', 'content-length', 'transfer-encoding'];
