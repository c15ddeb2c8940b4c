import { callUserFunction, type Denial } from '../../../auth/authorize.js';
import { askingUpstream } from '../../../auth/outage.js';
import { isServedHere } from '../../../auth/served-here.js';
import { withCredentials } from '../../../handler/server-request.js';
import { wholeBody } from '../../../handler/upstream-response.js';
import { ListenError } from '../../../model/error.js';
import {
  advertiseChanges,
  ProbeQuestion,
  probed,
  questionOf,
} from '../../../wasm/server/bindings.js';
import { type Credential, fieldsOf } from '../../../web/credentials.js';
import { sha256 } from '../../../web/digest.js';
import { hex } from '../../../web/hex.js';
import { TtlCache } from '../ttl-cache.js';
import { ProbeBudget } from './probe-budget.js';
import { required } from './required.js';
import { isDenial, type UpstreamServer } from './server.js';

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

/**
 * Admits and names the callers that the upstream server serves. It sends `server/discover` with the
 * credentials of the caller, and `initialize` to a server that does not know that method, at a URL
 * where it has not given a result for it in the last five minutes. Only a result admits. A name is
 * made of those credentials that the server requires at this URL.
 */
export class UpstreamAdmission {
  readonly #server: UpstreamServer;
  readonly #admitsUnknownMethod: boolean;
  /** Callers that were admitted, by the digests of their requests. Refusals are not cached. */
  readonly #admitted = new TtlCache<true>(5_000, 10_000);
  /** Whether the server serves requests without credentials, by the digests of their URLs. */
  readonly #open = new TtlCache<boolean>(60_000, 10_000);
  /** Whether a part of a caller's credentials is enough, by the digests of such requests. */
  readonly #enough = new TtlCache<boolean>(60_000, 10_000);
  readonly #budget = new ProbeBudget();
  /**
   * URLs at which the server does not know `server/discover` but supports `initialize`, as digests:
   * clients choose how long a URL is.
   */
  readonly #initializing = new TtlCache<true>(300_000, 10_000);
  /** URLs at which the server has given a result for `server/discover`, as digests. */
  readonly #discovering = new TtlCache<true>(300_000, 10_000);

  /** @param admitsUnknownMethod - whether an error "no such method or revision" also admits. */
  constructor(server: UpstreamServer, admitsUnknownMethod: boolean) {
    this.#server = server;
    this.#admitsUnknownMethod = admitsUnknownMethod;
  }

  /** Returns the name of a caller that is admitted, or why it is denied. */
  readonly principal = askingUpstream(
    async (request: Request): Promise<string | Denial | undefined> =>
      (await this.#denialOf(request)) ?? this.nameOf(request),
  );

  /**
   * Returns the name of a caller; undefined if the server requires no credential that names one.
   *
   * @throws ListenError `authorizer-failed` if this is not known now, for too many credentials, and
   *   for a caller that has caused too many requests.
   */
  async nameOf(request: Request): Promise<string | undefined> {
    const { credentials } = this.#server;
    const sent = credentials.listOf(request);
    const name = await credentials.nameOf(sent);
    if (name === undefined) return undefined;
    expectFew(sent);
    // Otherwise a caller that is denied would cause many requests.
    if (sent.length > 1 && (await this.#denialOf(request)) !== undefined) return name;
    const keys = await this.#keysOf(sent);
    const parts = await required(sent, (some) => this.#isEnough(request, some, keys));
    this.#budget.remember(await this.#keysOf(parts));
    return credentials.nameOf(parts);
  }

  /** Returns the digests of those credentials that may be part of a name. */
  async #keysOf(sent: readonly Credential[]): Promise<string[]> {
    const keys = await Promise.all(sent.map((each) => this.#server.credentials.nameOf([each])));
    return keys.filter((key) => key !== undefined);
  }

  async #denialOf(request: Request): Promise<Denial | undefined> {
    const { credentials } = this.#server;
    const key = await credentials.digestOf(request);
    const isDeferred = isCheckedLater(request) && credentials.listOf(request).length < 2;
    if (isDeferred || this.#admitted.get(key)) return undefined;
    const denial = await this.#denialBy(request, this.#admitsUnknownMethod);
    if (denial === undefined) this.#admitted.set(key, true);
    return denial;
  }

  /**
   * Returns whether the server serves a caller with these of its credentials. Caches the result for
   * a minute; an error keeps the last known result.
   *
   * @param keys - the digests of all credentials of the caller.
   */
  async #isEnough(
    request: Request,
    some: readonly Credential[],
    keys: readonly string[],
  ): Promise<boolean> {
    const probe = withCredentials(request, fieldsOf(some));
    const isNone = some.length === 0;
    const cache = isNone ? this.#open : this.#enough;
    const key = await this.#server.credentials.digestOf(probe);
    const known = cache.get(key);
    if (known !== undefined) return known;
    const last = cache.last(key);
    if (!isNone && !this.#budget.admits(keys)) {
      if (last !== undefined) return last;
      throw new ListenError('authorizer-failed', 'a caller varies its credentials too often');
    }
    // Other requests use the last result while this one asks again.
    if (last !== undefined) cache.set(key, last);
    const isEnough = (await this.#isServed(probe, last)) ?? (isNone ? false : undefined);
    // A name of more credentials than required would be one of many names of its caller.
    if (isEnough === undefined)
      throw new ListenError('authorizer-failed', 'the upstream server cannot name a caller now');
    if (!request.signal.aborted) cache.set(key, isEnough);
    return isEnough;
  }

  /** Returns whether the server serves a request; after an error `last`. */
  #isServed(probe: Request, last: boolean | undefined): Promise<boolean | undefined> {
    return callUserFunction(PROBE_MS, 'principal', () => this.#denialBy(probe, false)).then(
      (denial) => (denial?.denied === 503 ? last : denial === undefined),
      ({ code }: ListenError) => last ?? (code === 'discover-failed' ? false : undefined),
    );
  }

  async #denialBy(request: Request, admitsUnknownMethod: boolean): Promise<Denial | undefined> {
    const { origin, pathname } = new URL(request.url);
    const endpoint = hex(await sha256(origin + pathname));
    const isInitializing = this.#initializing.get(endpoint) === true;
    if (!isInitializing) {
      const discovered = await this.#server.send(request, questionOf(ProbeQuestion.Discover));
      if (isDenial(discovered)) return discovered;
      const body = await wholeBody(discovered, this.#server.limits);
      const isServed = isResult(discovered, body);
      if (isServed) this.#discovering.set(endpoint, true);
      const { isUnknown } = probed(body);
      if (isServed || (admitsUnknownMethod && isUnknown)) return undefined;
      // One caller must not decide how all callers are checked.
      if (this.#discovering.get(endpoint) === true) throw notServed('server/discover', isUnknown);
    }
    const denial = await this.#initialized(request, endpoint);
    // Not after each `initialize`, or `server/discover` would never be sent again.
    if (denial === undefined && !isInitializing) this.#initializing.set(endpoint, true);
    return denial;
  }

  /** @throws ListenError `discover-failed` if the response is not a result. */
  async #initialized(request: Request, endpoint: string): Promise<Denial | undefined> {
    const response = await this.#server.send(request, questionOf(ProbeQuestion.Initialize));
    if (isDenial(response)) return response;
    const isServed = isResult(response, await wholeBody(response, this.#server.limits));
    const session = response.headers.get('mcp-session-id');
    if (session !== null) this.#server.endSession(request, session);
    if (isServed) return undefined;
    this.#initializing.delete(endpoint);
    throw notServed('server/discover or initialize');
  }
}

/** `isPassing`: another process of the server, of an earlier version, may have responded. */
function notServed(methods: string, isPassing = false): ListenError {
  return new ListenError(
    isPassing ? 'upstream-unreachable' : 'discover-failed',
    `the upstream server gives a caller no result for ${methods}`,
  );
}

/** @throws ListenError `authorizer-failed` for more credentials than a caller may have. */
function expectFew(sent: readonly Credential[]): void {
  const refuse = (what: string): never => {
    throw new ListenError('authorizer-failed', `a caller has over ${what}`);
  };
  if (sent.length > MAX_CREDENTIALS) refuse(`${MAX_CREDENTIALS} credentials`);
  const tokens = sent.filter(({ field }) => field === 'authorization').length;
  if (tokens > MAX_TOKENS) refuse(`${MAX_TOKENS} words after Bearer`);
}

/** Whether a response is a result with capabilities; errors may also have status 200. */
function isResult({ ok }: Response, body: Uint8Array): boolean {
  return ok && advertiseChanges(body, true) !== undefined;
}

/**
 * Milliseconds for a request with a part of the credentials; a server that takes longer for one
 * without any is assumed to need them.
 */
const PROBE_MS = 4_000;
/** Maximum credentials of a caller, each cookie that may name it counted as one. */
const MAX_CREDENTIALS = 32;
/** Maximum words after the scheme of a bearer token, each of which may be a credential. */
const MAX_TOKENS = 3;
