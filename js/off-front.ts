import { type Exchange, refuse } from './legacy/exchange.js';
import { type Reading, withheld } from './offered.js';
import type { Refusals } from './refusals.js';
import type { Renewed } from './renewed.js';
import type { Acceptor } from './wasm.js';

/**
 * Answers requests of a server that holds no streams (`listen: 'off'`), without the bus, `principal`
 * or `authorize`.
 */
export class OffFront {
  readonly #acceptor: Renewed<Acceptor>;
  readonly #other: (exchange: Exchange) => Response | Promise<Response>;
  readonly #refusals: Refusals;
  readonly #reading: Reading;

  /**
   * @param other - answers what is not refused.
   * @param reading - how answers with capabilities are read.
   */
  constructor(
    acceptor: Renewed<Acceptor>,
    other: (exchange: Exchange) => Response | Promise<Response>,
    refusals: Refusals,
    reading: Reading,
  ) {
    this.#acceptor = acceptor;
    this.#other = other;
    this.#refusals = refusals;
    this.#reading = reading;
  }

  /** Refuses a listen; forwards other requests, and withholds capabilities from their answers. */
  async fetch(exchange: Exchange): Promise<Response> {
    const { body, headers, request } = exchange;
    const verdict = this.#acceptor.value.judgeOff(request.method, headers, body?.bytes ?? new Uint8Array());
    const { isInBand, namesCapabilities, rejection } = verdict;
    verdict.free();
    if (rejection === undefined) {
      const answer = await this.#other(exchange);
      return namesCapabilities && answer.ok ? withheld(request, answer, this.#reading) : answer;
    }
    return refuse(isInBand ? this.#refusals.inBand(rejection) : this.#refusals.answer(rejection), exchange);
  }
}
