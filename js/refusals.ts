import type { Rejection } from './wasm.js';

/**
 * What is wrong with a request that is refused: `http`: its method or media types; `origin`: host or page; `size`: a limit;
 * `request`: what it says, or a session that is not there or has a stream; `unauthorized`; `forbidden`; `full`: too many streams or
 * sessions; `unavailable`: the bus, the handler or the authorizer; `closing`.
 */
export type RefusalKind =
  | 'http'
  | 'origin'
  | 'size'
  | 'request'
  | 'unauthorized'
  | 'forbidden'
  | 'full'
  | 'unavailable'
  | 'closing';

/** The header fields of an answer to a denied caller. */
export interface DenialFields {
  retryAfter?: string | undefined;
  wwwAuthenticate?: string | undefined;
}

/** Makes refusals into answers, and counts them. */
export class Refusals {
  /** How many there were of each kind. */
  readonly counts: Record<RefusalKind, number> = {
    ...{ http: 0, origin: 0, size: 0, request: 0 },
    ...{ unauthorized: 0, forbidden: 0, full: 0, unavailable: 0, closing: 0 },
  };

  readonly #onrefused: (kind: RefusalKind) => void;

  /** @param onrefused - told of each. */
  constructor(onrefused: (kind: RefusalKind) => void) {
    this.#onrefused = onrefused;
  }

  /** A refusal that somebody else answers. */
  count(kind: string): void {
    this.counts[kind as RefusalKind] += 1;
    this.#onrefused(kind as RefusalKind);
  }

  /** A refusal as an HTTP answer; frees it. */
  answer(rejection: Rejection): Response {
    const { status, retryAfter } = rejection;
    const response = this.inBand(rejection, status);
    if (retryAfter !== undefined) response.headers.set('retry-after', String(retryAfter));
    return response;
  }

  /** A refusal as the JSON-RPC error that answers a request which HTTP itself has nothing against; frees it. */
  inBand(rejection: Rejection, status = 200): Response {
    const { body, kind } = rejection;
    rejection.free();
    this.count(kind);
    return json(body, status);
  }

  /** A refusal as the answer to a caller whom `authorize` denied; frees it. */
  denied(rejection: Rejection, { retryAfter, wwwAuthenticate }: DenialFields): Response {
    const response = this.answer(rejection);
    if (wwwAuthenticate !== undefined) response.headers.set('www-authenticate', wwwAuthenticate);
    if (retryAfter !== undefined) response.headers.set('retry-after', retryAfter);
    return response;
  }
}

/** A JSON text as an answer. */
export function json(body: string, status = 200): Response {
  return new Response(body, { status, headers: { 'content-type': 'application/json' } });
}
