import type { RefusalKind } from '../model/stats/listen.js';
import type { HttpResponse } from '../wasm/server/bindings.js';
import { jsonResponse } from '../web/json-response.js';

/** The header fields of a response to a denied caller. */
export interface DenialFields {
  retryAfter?: string | undefined;
  wwwAuthenticate?: string | undefined;
}

/** Creates the responses of refusals, and counts them. */
export class ErrorResponses {
  /** Number of refusals by kind. */
  readonly counts: Record<RefusalKind, number> = {
    ...{ http: 0, origin: 0, size: 0, request: 0 },
    ...{ unauthorized: 0, forbidden: 0, full: 0, unavailable: 0, closing: 0 },
  };

  readonly #onRefused: (kind: RefusalKind) => void;

  /** @param onRefused - called with each refusal. */
  constructor(onRefused: (kind: RefusalKind) => void) {
    this.#onRefused = onRefused;
  }

  /** Returns a response of the core as one of the host. */
  respond({ body, refusal, retryAfter, status }: HttpResponse): Response {
    if (refusal !== undefined) this.#count(refusal as RefusalKind);
    const response =
      body === undefined ? new Response(null, { status }) : jsonResponse(body, status);
    if (retryAfter !== undefined) response.headers.set('retry-after', String(retryAfter));
    return response;
  }

  /** Returns the response to a caller that was denied. */
  denied(refusal: HttpResponse, { retryAfter, wwwAuthenticate }: DenialFields): Response {
    const response = this.respond(refusal);
    if (wwwAuthenticate !== undefined) response.headers.set('www-authenticate', wwwAuthenticate);
    if (retryAfter !== undefined) response.headers.set('retry-after', retryAfter);
    return response;
  }

  #count(kind: RefusalKind): void {
    this.counts[kind] += 1;
    this.#onRefused(kind);
  }
}
