import type { Rejection } from './wasm.js';

/** A refusal as an HTTP answer; frees it. */
export function answer(rejection: Rejection): Response {
  const { status, retryAfter } = rejection;
  const response = inBand(rejection, status);
  if (retryAfter !== undefined) response.headers.set('retry-after', String(retryAfter));
  return response;
}

/** A refusal as the JSON-RPC error that answers a request which HTTP itself has nothing against; frees it. */
export function inBand(rejection: Rejection, status = 200): Response {
  const { body } = rejection;
  rejection.free();
  return json(body, status);
}

/** A refusal as the answer to a caller whom `authorize` denied; frees it. */
export function denied(rejection: Rejection, { wwwAuthenticate }: { wwwAuthenticate?: string | undefined }): Response {
  const response = answer(rejection);
  if (wwwAuthenticate !== undefined) response.headers.set('www-authenticate', wwwAuthenticate);
  return response;
}

/** A JSON text as an answer. */
export function json(body: string, status = 200): Response {
  return new Response(body, { status, headers: { 'content-type': 'application/json' } });
}
