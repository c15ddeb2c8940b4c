import { ListenError } from '../model/error.js';
import type { RefusalKind } from '../model/stats/listen.js';
import { type HttpResponse, Refusal } from '../wasm/server/bindings.js';
import { jsonResponse } from '../web/json-response.js';
import type { InboundExchange } from './inbound.js';

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

  /**
   * Performs an action for a request. An error is reported, and the caller only learns that it may
   * repeat the request. A trap of the core ends the exchange: it is thrown.
   */
  async reporting<T>(
    { core, request }: InboundExchange,
    onError: (error: Error) => void,
    action: () => Promise<T>,
  ): Promise<T | Response> {
    try {
      return await action();
    } catch (error) {
      const code = error instanceof ListenError ? error.code : '';
      if (code === 'core-trapped') throw error;
      // A client that has disconnected is not an error, and receives no response.
      if (!request.signal.aborted) onError(error as Error);
      const isAuthorizer = code.startsWith('authorizer');
      return this.respond(
        core.refuse(isAuthorizer ? Refusal.AuthorizerFailed : Refusal.Unavailable),
      );
    }
  }

  #count(kind: RefusalKind): void {
    this.counts[kind] += 1;
    this.#onRefused(kind);
  }
}
