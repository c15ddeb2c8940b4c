import type { FetchHandler } from '../handler.js';
import type { Refusals } from '../refusals.js';
import type { Renewed } from '../renewed.js';
import type { Acceptor } from '../wasm.js';
import { type Exchange, pass, refuse } from './exchange.js';
import type { SessionFront } from './session-front.js';

/** Tells requests of 2025-11-25 and earlier from all others, which go to the handler behind. */
export class LegacyFront {
  readonly #acceptor: Renewed<Acceptor>;
  readonly #handler: FetchHandler;
  readonly #refusals: Refusals;
  readonly #sessions: SessionFront | undefined;

  /** @param sessions - serves earlier revisions; undefined: they are refused. */
  constructor(
    acceptor: Renewed<Acceptor>,
    handler: FetchHandler,
    refusals: Refusals,
    sessions: SessionFront | undefined,
  ) {
    this.#acceptor = acceptor;
    this.#refusals = refusals;
    this.#handler = handler;
    this.#sessions = sessions;
  }

  /** Answers a request that is no listen. */
  async fetch(exchange: Exchange): Promise<Response> {
    const { body, headers, request } = exchange;
    const verdict = this.#acceptor.value.judgeLegacy(request.method, headers, body?.bytes ?? new Uint8Array());
    const { rejection, request: legacy } = verdict;
    verdict.free();
    try {
      if (this.#sessions !== undefined) return await this.#sessions.serve({ rejection, legacy }, exchange);
      const refusal = rejection ?? legacy?.refuseVersion();
      if (refusal === undefined) return await pass(this.#handler, exchange);
      return await refuse(this.#refusals.answer(refusal), exchange);
    } finally {
      legacy?.free();
    }
  }
}
