import { answer } from '../answer.js';
import type { FetchHandler } from '../handler.js';
import type { Acceptor, LegacyRequest } from '../wasm.js';
import { type Exchange, pass } from './exchange.js';
import type { SessionFront } from './session-front.js';

/** Tells requests of 2025-11-25 and earlier from all others, which go to the handler behind. */
export class LegacyFront {
  readonly #acceptor: Acceptor;
  readonly #handler: FetchHandler;
  readonly #sessions: SessionFront | undefined;

  /** @param sessions - serves earlier revisions; undefined: they are refused. */
  constructor(acceptor: Acceptor, handler: FetchHandler, sessions: SessionFront | undefined) {
    this.#acceptor = acceptor;
    this.#handler = handler;
    this.#sessions = sessions;
  }

  /** Answers a request that is no listen. */
  async fetch(exchange: Exchange): Promise<Response> {
    const { body, headers, request } = exchange;
    const verdict = this.#acceptor.judgeLegacy(request.method, headers, body?.bytes ?? new Uint8Array());
    const { rejection, request: legacy } = verdict;
    verdict.free();
    if (rejection !== undefined) {
      await body?.rest?.cancel();
      return answer(rejection);
    }
    try {
      return await this.#serve(legacy, exchange);
    } finally {
      legacy?.free();
    }
  }

  #serve(legacy: LegacyRequest | undefined, exchange: Exchange): Response | Promise<Response> {
    if (legacy === undefined) return pass(this.#handler, exchange);
    if (this.#sessions !== undefined) return this.#sessions.serve(legacy, exchange);
    return answer(legacy.refuseVersion());
  }
}
