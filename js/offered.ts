import type { FetchHandler } from './handler.js';
import { discoverHeaders, raisedAnswer } from './wasm.js';

/** The handler, whose answers to `server/discover` tell of changes of all that it offers. */
export function offering(handler: FetchHandler): FetchHandler {
  const fields = discoverHeaders().split('\n');
  return async (request, ...rest) => {
    const isDiscover = fields.includes(`mcp-method: ${request.headers.get('mcp-method')}`);
    const response = await handler(request, ...rest);
    return isDiscover ? raised(response) : response;
  };
}

/** An answer with capabilities as one that tells of changes of all that is offered. */
export async function raised(response: Response): Promise<Response> {
  if (!response.ok) return response;
  const bytes = new Uint8Array(await response.arrayBuffer());
  const text = raisedAnswer(bytes);
  const headers = new Headers(response.headers);
  // They told of the body as it came, which has been read and decoded.
  for (const name of ['content-length', 'content-encoding']) headers.delete(name);
  if (text !== undefined) headers.set('content-type', 'application/json');
  return new Response(text ?? bytes, { status: response.status, headers });
}
