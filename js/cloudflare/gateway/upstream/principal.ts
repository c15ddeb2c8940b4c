import { callUserFunction, type Denial } from '../../../auth/authorize.js';
import type { Principal } from '../../../auth/principal.js';
import { isServedHere } from '../../../auth/served-here.js';
import { withoutCredentials } from '../../../handler/server-request.js';
import { wholeBody } from '../../../handler/upstream-response.js';
import { ListenError } from '../../../model/error.js';
import {
  advertiseChanges,
  ProbeQuestion,
  probed,
  questionOf,
} from '../../../wasm/server/bindings.js';
import { TtlCache } from '../ttl-cache.js';
import { isDenial, type UpstreamServer } from './server.js';

/**
 * Creates a `principal` that admits and names the callers that the upstream server serves. It sends
 * `server/discover` with the credentials of the caller, and `initialize` to a server that does not
 * know that method. Only a result admits. Credentials name a caller only if the server does not
 * serve the same URL without them.
 *
 * @param admitsUnknownMethod - whether an error "no such method or revision" also admits.
 */
export function upstreamPrincipal(server: UpstreamServer, admitsUnknownMethod: boolean): Principal {
  const admission = new Admission(server, admitsUnknownMethod);
  return async (request) => {
    const [name, denial] = await Promise.all([
      admission.nameOf(request),
      admission.denialOf(request),
    ]);
    return denial ?? name;
  };
}

/**
 * Whether a request is an `initialize`, which the upstream server checks itself once it is
 * forwarded, or one that is refused. Listens name the revision 2026-07-28, and other requests that
 * are handled here name a session or are marked.
 */
function isCheckedLater(request: Request): boolean {
  const { headers, method } = request;
  if (method !== 'POST' || headers.has('mcp-session-id') || isServedHere(request)) return false;
  return /^202[45](-\d\d-\d\d)?$/.test(headers.get('mcp-protocol-version') ?? '2025');
}

/** Caches what is known about an upstream server and the callers that it serves. */
class Admission {
  readonly #server: UpstreamServer;
  readonly #admitsUnknownMethod: boolean;
  /** Callers that were admitted, by the digests of their requests. Refusals are not cached. */
  readonly #admitted = new TtlCache<true>(5_000, 1_000);
  /** Whether the server needs credentials, by URL. */
  readonly #credentialNeeds = new TtlCache<boolean>(60_000, 1_000);
  /** URLs at which the server does not know `server/discover` but supports `initialize`. */
  readonly #initializing = new TtlCache<true>(300_000, 1_000);

  constructor(server: UpstreamServer, admitsUnknownMethod: boolean) {
    this.#server = server;
    this.#admitsUnknownMethod = admitsUnknownMethod;
  }

  /**
   * Returns the name of a caller; undefined if it has no credentials or the server does not need
   * them.
   */
  async nameOf(request: Request): Promise<string | undefined> {
    const name = await this.#server.credentials.nameOf(request);
    return name !== undefined && (await this.#needsCredentials(request)) ? name : undefined;
  }

  /** Returns why the caller is denied; undefined if it is admitted. */
  async denialOf(request: Request): Promise<Denial | undefined> {
    const key = await this.#server.credentials.digestOf(request);
    if (isCheckedLater(request) || this.#admitted.get(key)) return undefined;
    const denial = await this.#denialBy(request, this.#admitsUnknownMethod);
    if (denial === undefined) this.#admitted.set(key, true);
    return denial;
  }

  /**
   * Returns whether the server needs credentials. Caches the result for a minute; an error keeps
   * the last known result.
   */
  async #needsCredentials(request: Request): Promise<boolean> {
    const { url } = request;
    const known = this.#credentialNeeds.get(url);
    if (known !== undefined) return known;
    const last = this.#credentialNeeds.last(url);
    // Other requests use the last result while this one asks again.
    if (last !== undefined) this.#credentialNeeds.set(url, last);
    const isNeeded = await callUserFunction(UNCREDENTIALED_MS, 'principal', () =>
      this.#denialBy(withoutCredentials(request), false),
    ).then(
      (denial) => denial !== undefined && (denial.denied !== 503 || (last ?? true)),
      () => last ?? true,
    );
    if (!request.signal.aborted) this.#credentialNeeds.set(url, isNeeded);
    return isNeeded;
  }

  async #denialBy(request: Request, admitsUnknownMethod: boolean): Promise<Denial | undefined> {
    const { origin, pathname } = new URL(request.url);
    const endpoint = origin + pathname;
    if (!this.#initializing.get(endpoint)) {
      const discovered = await this.#server.send(request, questionOf(ProbeQuestion.Discover));
      if (isDenial(discovered)) return discovered;
      const body = await wholeBody(discovered, this.#server.limits);
      if (isResult(discovered, body) || (admitsUnknownMethod && probed(body).isUnknown))
        return undefined;
    }
    return this.#initialized(request, endpoint);
  }

  /** @throws ListenError `discover-failed` if the response is not a result. */
  async #initialized(request: Request, endpoint: string): Promise<Denial | undefined> {
    const response = await this.#server.send(request, questionOf(ProbeQuestion.Initialize));
    if (isDenial(response)) return response;
    const isServed = isResult(response, await wholeBody(response, this.#server.limits));
    const session = response.headers.get('mcp-session-id');
    if (session !== null) this.#server.endSession(request, session);
    if (isServed) this.#initializing.set(endpoint, true);
    else this.#initializing.delete(endpoint);
    if (isServed) return undefined;
    throw new ListenError(
      'discover-failed',
      'the upstream server responds neither to server/discover nor to initialize',
    );
  }
}

/** Whether a response is a result with capabilities; errors may also have status 200. */
function isResult({ ok }: Response, body: Uint8Array): boolean {
  return ok && advertiseChanges(body) !== undefined;
}

/**
 * Milliseconds for the request without credentials; a server that takes longer is assumed to need
 * them.
 */
const UNCREDENTIALED_MS = 4_000;
