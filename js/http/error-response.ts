import type { RefusalKind } from '../model/stats.js';
import type { Answer } from '../wasm/server/bindings.js';
import { jsonResponse } from '../web/json-response.js';

/** The header fields of an answer to a denied caller. */
export interface DenialFields {
  retryAfter?: string | undefined;
  wwwAuthenticate?: string | undefined;
}

/** Makes refusals into answers, and counts them. */
export class ErrorResponses {
  /** How many there were of each kind. */
  readonly counts: Record<RefusalKind, number> = {
    ...{ http: 0, origin: 0, size: 0, request: 0 },
    ...{ unauthorized: 0, forbidden: 0, full: 0, unavailable: 0, closing: 0 },
  };

  readonly #onRefused: (kind: RefusalKind) => void;

  /** @param onRefused - told of each. */
  constructor(onRefused: (kind: RefusalKind) => void) {
    this.#onRefused = onRefused;
  }

  /** An answer of the core as an HTTP answer. */
  answer({ body, refusal, retryAfter, status }: Answer): Response {
    if (refusal !== undefined) this.#count(refusal as RefusalKind);
    const response =
      body === undefined ? new Response(null, { status }) : jsonResponse(body, status);
    if (retryAfter !== undefined) response.headers.set('retry-after', String(retryAfter));
    return response;
  }

  /** A refusal as the JSON-RPC error that answers a request which HTTP itself has nothing against. */
  asJsonRpcError(refusal: Answer): Response {
    return this.answer({ ...refusal, status: 200, retryAfter: undefined });
  }

  /** A refusal as the answer to a caller whom `authorize` denied. */
  denied(refusal: Answer, { retryAfter, wwwAuthenticate }: DenialFields): Response {
    const response = this.answer(refusal);
    if (wwwAuthenticate !== undefined) response.headers.set('www-authenticate', wwwAuthenticate);
    if (retryAfter !== undefined) response.headers.set('retry-after', retryAfter);
    return response;
  }

  #count(kind: RefusalKind): void {
    this.counts[kind] += 1;
    this.#onRefused(kind);
  }
}
