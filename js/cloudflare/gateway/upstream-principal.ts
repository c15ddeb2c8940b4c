import { type Denial, within } from '../../auth/authorize.js';
import type { Principal } from '../../auth/principal.js';
import { anonymous } from '../../handler/question.js';
import { wholeBody } from '../../handler/upstream-response.js';
import { ListenError } from '../../model/error.js';
import { offeredAnswer, probed, Question, questionOf } from '../../wasm/server/bindings.js';
import { TtlCache } from './ttl-cache.js';
import { isDenial, type UpstreamServer } from './upstream.js';

/**
 * Makes a `principal` that admits and names the callers that the server behind serves. It sends
 * `server/discover` with the credentials of the caller, and `initialize` to a server that does not
 * know that method. Only a result admits. Credentials name a caller only where the server does not
 * serve the same URL without them.
 *
 * @param isUnknownEnough - an error "no such method or revision" admits, too.
 */
export function upstreamPrincipal(behind: UpstreamServer, isUnknownEnough: boolean): Principal {
  const admission = new Admission(behind, isUnknownEnough);
  return async (request) => {
    const [name, denial] = await Promise.all([
      admission.nameOf(request),
      admission.denialOf(request),
    ]);
    return denial ?? name;
  };
}

/**
 * Whether a request is an `initialize`, which is forwarded and so judged by the server itself, or one
 * that is refused. Listens name the revision 2026-07-28, and other requests that are answered here
 * name a session.
 */
function opensNothing({ headers, method }: Request): boolean {
  const version = headers.get('mcp-protocol-version') ?? '2025';
  return (
    method === 'POST' && !headers.has('mcp-session-id') && /^202[45](-\d\d-\d\d)?$/.test(version)
  );
}

/** What is known of a server behind, and of the callers that it serves. */
class Admission {
  readonly #behind: UpstreamServer;
  readonly #isUnknownEnough: boolean;
  /** Callers that were admitted, by the digests of their requests; refusals are not remembered. */
  readonly #admitted = new TtlCache<true>(5_000, 1_000);
  /** Whether the server needs credentials, by URL. */
  readonly #needing = new TtlCache<boolean>(60_000, 1_000);
  /** URLs at which the server does not know `server/discover`, and answers `initialize`. */
  readonly #initializing = new TtlCache<true>(300_000, 1_000);

  constructor(behind: UpstreamServer, isUnknownEnough: boolean) {
    this.#behind = behind;
    this.#isUnknownEnough = isUnknownEnough;
  }

  /** Returns the name of a caller; undefined: it has no credentials, or the server does not need them. */
  async nameOf(request: Request): Promise<string | undefined> {
    const name = await this.#behind.credentials.nameOf(request);
    return name !== undefined && (await this.#needsCredentials(request)) ? name : undefined;
  }

  /** Returns why the caller is not served; undefined: it is. */
  async denialOf(request: Request): Promise<Denial | undefined> {
    const key = await this.#behind.credentials.digestOf(request);
    if (opensNothing(request) || this.#admitted.get(key)) return undefined;
    const denial = await this.#asked(request, this.#isUnknownEnough);
    if (denial === undefined) this.#admitted.set(key, true);
    return denial;
  }

  /** An answer holds for a minute, and an error changes nothing that is known. */
  async #needsCredentials(request: Request): Promise<boolean> {
    const { url } = request;
    const known = this.#needing.get(url);
    if (known !== undefined) return known;
    const last = this.#needing.last(url);
    // While it is asked again, what was known holds for all other requests.
    if (last !== undefined) this.#needing.set(url, last);
    const isNeeded = await within(ANONYMOUS_MS, 'principal', () =>
      this.#asked(anonymous(request), false),
    ).then(
      (denial) => denial !== undefined && (denial.denied !== 503 || (last ?? true)),
      () => last ?? true,
    );
    if (!request.signal.aborted) this.#needing.set(url, isNeeded);
    return isNeeded;
  }

  async #asked(request: Request, isUnknownEnough: boolean): Promise<Denial | undefined> {
    const { origin, pathname } = new URL(request.url);
    const place = origin + pathname;
    if (!this.#initializing.get(place)) {
      const discovered = await this.#behind.ask(request, questionOf(Question.Discover));
      if (isDenial(discovered)) return discovered;
      const body = await wholeBody(discovered, this.#behind.limits);
      if (isResult(discovered, body) || (isUnknownEnough && probed(body).isUnknown))
        return undefined;
    }
    return this.#initialized(request, place);
  }

  /** @throws ListenError `discover-failed` where the answer is no result. */
  async #initialized(request: Request, place: string): Promise<Denial | undefined> {
    const answer = await this.#behind.ask(request, questionOf(Question.Initialize));
    if (isDenial(answer)) return answer;
    const isServed = isResult(answer, await wholeBody(answer, this.#behind.limits));
    const session = answer.headers.get('mcp-session-id');
    if (session !== null) this.#behind.leave(request, session);
    if (isServed) this.#initializing.set(place, true);
    else this.#initializing.delete(place);
    if (isServed) return undefined;
    throw new ListenError(
      'discover-failed',
      'the server behind answers neither server/discover nor initialize',
    );
  }
}

/** Whether an answer is a result with capabilities; errors come with 200, too. */
function isResult({ ok }: Response, body: Uint8Array): boolean {
  return ok && offeredAnswer(body, true) !== undefined;
}

/** Milliseconds for the question without credentials; a server that takes longer needs them. */
const ANONYMOUS_MS = 4_000;
