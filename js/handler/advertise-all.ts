import { advertiseChanges, ProbeQuestion, questionOf } from '../wasm/server/bindings.js';
import type { FetchHandler } from './handler.js';
import { failedResponse, type ResponseLimits, wholeBody } from './upstream-response.js';

/** How responses of the handler are read. */
export interface Reading {
  readonly limits: ResponseLimits;
  readonly onError: (error: Error) => void;
}

/**
 * Wraps the handler so that its responses to `server/discover` announce changes of everything it
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

/** Rewrites a response with capabilities to announce changes of everything it offers. */
export function withAllCapabilities(
  request: Request,
  response: Response,
  reading: Reading,
): Promise<Response> {
  return rewritten(request, response, reading, true);
}

/** Rewrites a response with capabilities to announce no changes, because no streams are held. */
export function withoutCapabilities(
  request: Request,
  response: Response,
  reading: Reading,
): Promise<Response> {
  return rewritten(request, response, reading, false);
}

async function rewritten(
  request: Request,
  original: Response,
  reading: Reading,
  areServed: boolean,
): Promise<Response> {
  const response = await buffered(request, original, reading);
  if (!response.ok) return response;
  const bytes = new Uint8Array(await response.arrayBuffer());
  const text = advertiseChanges(bytes, areServed);
  if (text !== undefined) response.headers.set('content-type', 'application/json');
  return new Response(text ?? bytes, { status: response.status, headers: response.headers });
}

/** Returns the response to `request` with its body read, a 502 or 504 if it exceeds the limits. */
export async function buffered(
  request: Request,
  response: Response,
  { limits, onError }: Reading,
): Promise<Response> {
  try {
    const bytes = await wholeBody(response, limits);
    const headers = new Headers(response.headers);
    // These fields describe the original body, which has been read and decoded.
    for (const name of FRAMING) headers.delete(name);
    return new Response(bytes, { status: response.status, headers });
  } catch (error) {
    // A client that has disconnected is not an error.
    if (!request.signal.aborted) onError(error as Error);
    return failedResponse(error);
  }
}

const FRAMING = ['content-encoding', 'content-length', 'transfer-encoding'];
