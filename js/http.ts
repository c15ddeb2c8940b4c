import {
  type Asker,
  type Authorization,
  type Authorize,
  type AuthorizeContext,
  type Authorizing,
  ask,
  permitOf,
} from './authorize.js';
import { isBodyTimeout, readStart } from './body.js';
import type { ListenBus } from './bus/bus.js';
import { asListenBus } from './bus/foreign.js';
import { InMemoryBus } from './bus/memory.js';
import { Credentials } from './credentials.js';
import { Discovery } from './discover.js';
import { calling, ListenError } from './error.js';
import type { SubscriptionFilter } from './filter.js';
import { Front, linesOf } from './front.js';
import { asFetch, type FetchHandler, type McpHandler } from './handler.js';
import { type Exchange, pass, refuse } from './legacy/exchange.js';
import { LegacyFront } from './legacy/legacy-front.js';
import { SessionFront } from './legacy/session-front.js';
import type { SessionStore } from './legacy/session-store.js';
import { type DEFAULT_LIMITS, limitsOf } from './limits.js';
import { expectLoaded } from './load.js';
import { notifierOn } from './notify.js';
import { OffFront } from './off-front.js';
import { offering } from './offered.js';
import { Openings } from './openings.js';
import type { ListenOptions, ListenServer } from './options.js';
import { type Caller, callerOf, type Naming, type Principal } from './principal.js';
import { Refusals } from './refusals.js';
import { Renewed } from './renewed.js';
import { onceEach, report } from './report.js';
import type { ListenStats } from './streams.js';
import { timesOf } from './times.js';
import { serverLife } from './trap.js';
import { type Accepted, Acceptor, type Claim, Refusal } from './wasm.js';
import { Witness } from './witness.js';

/**
 * Serves `subscriptions/listen` (2026-07-28) in front of an MCP handler. Listens are answered here;
 * all other requests that name this host, and come from a page that may ask or from no page at all, reach
 * `handler` with body bytes and headers as they came.
 *
 * @throws ListenError `invalid-options`; `not-loaded` where `mcp-listen/slim` was given no module.
 */
export function serveListen(handler: McpHandler, options: ListenOptions = {}): ListenServer {
  return listening(handler, options).server;
}

/** A server, and whether it can be forgotten. */
export interface Listening {
  server: ListenServer;
  /** Returns whether it answers no request, holds no stream, and takes new ones. */
  isIdle: () => boolean;
}

/** As {@link serveListen}, for a host that forgets servers which are idle. */
export function listening(handler: McpHandler, options: ListenOptions = {}): Listening {
  expectLoaded();
  const front = new ListenFront(asFetch(handler), options);
  const { bus, close, drain, fetch, revoke, shed, stats } = front;
  const { onerror = report, tracer } = options;
  const notify = notifierOn(bus, tracer && { tracer, onerror });
  const server = { fetch, notify, revoke, close, drain, shed, stats, bus };
  return { server, isIdle: () => front.isIdle };
}

class ListenFront {
  readonly bus: ListenBus;
  readonly #front: Front;
  readonly #handler: FetchHandler;
  readonly #isOffering: boolean;
  readonly #core: Renewed<Acceptor>;
  readonly #limits: typeof DEFAULT_LIMITS;
  readonly #authorizing: Authorizing<AuthorizeContext>;
  readonly #principal: Principal | undefined;
  readonly #onerror: (error: Error) => void;
  readonly #discovery: Discovery;
  readonly #witness: Witness;
  readonly #refusals = new Refusals((kind) => this.#witness.refused(kind));
  readonly #openings: Openings;
  readonly #legacy: LegacyFront | undefined;
  /** Answers instead of all others where no streams are held. */
  readonly #off: OffFront | undefined;
  /** Requests that are being answered. */
  #underWay = 0;

  constructor(handler: FetchHandler, options: ListenOptions) {
    const { authorize, capabilities, limits, principal, serverInfo } = options;
    const onerror = onceEach(options.onerror ?? report);
    const holdsStreams = expectHolding(options);
    this.#front = new Front(options, { isModernOnly: options.legacy === 'reject', holdsStreams }, this.#refusals);
    this.#isOffering = capabilities === 'offered' && holdsStreams;
    const stated = JSON.stringify(limits);
    this.#core = new Renewed(() => calling(() => new Acceptor(stated)));
    this.#limits = limitsOf(limits);
    this.#handler = this.#isOffering ? offering(handler, { limits: this.#limits, onerror }) : handler;
    this.#authorizing = { authorize, ms: this.#limits.authorizeMs, onerror };
    this.#principal = principal;
    this.#onerror = onerror;
    this.#witness = new Witness({ onlog: options.onlog, tracer: options.tracer, onerror });
    this.#discovery = new Discovery(this.#handler, {
      capabilities: capabilities === 'offered' ? undefined : capabilities,
      serverInfo,
      credentials: new Credentials(options.credentialHeaders),
      limits: this.#limits,
    });
    this.bus = asListenBus(options.bus ?? new InMemoryBus(onerror), onerror);
    this.#openings = this.#openingsOf(options);
    this.#legacy = this.#legacyFront(options);
    const reading = { limits: this.#limits, onerror };
    this.#off = holdsStreams ? undefined : new OffFront(this.#core, this.#other.bind(this), this.#refusals, reading);
  }

  readonly fetch = async (request: Request, ...rest: unknown[]): Promise<Response> => {
    const { method } = request;
    const headers = linesOf(request.headers);
    this.#underWay += 1;
    try {
      return await this.#front.guard(request, { method, headers }, () => this.#answer({ request, headers, rest }));
    } catch (error) {
      return this.#afterFailure(error);
    } finally {
      this.#underWay -= 1;
    }
  };

  get isIdle(): boolean {
    return this.#underWay === 0 && this.#openings.isIdle;
  }

  readonly close = (): Promise<void> => this.#openings.close();

  readonly drain = ({ windowMs = DRAIN_MS } = {}): Promise<void> => this.#openings.drain(windowMs);

  readonly shed = (streams: number, { windowMs = DRAIN_MS } = {}): Promise<void> =>
    this.#openings.shed(streams, windowMs);

  readonly revoke = (principal: string): Promise<void> => this.bus.publish({ kind: 'revoked', principal });

  readonly stats = (): ListenStats => ({ ...this.#openings.stats, refused: { ...this.#refusals.counts } });

  /** A body that is late is refused. A request that the core cannot go on with, because it has begun anew, may be made again. */
  #afterFailure(error: unknown): Response {
    if (isBodyTimeout(error)) return this.#refusals.answer(this.#acceptor.refuse(Refusal.BodyTimeout));
    if (!serverLife.isOfTrap(error)) throw error;
    this.#onerror(error as Error);
    return this.#refusals.answer(this.#acceptor.refuse(Refusal.Unavailable));
  }

  get #acceptor(): Acceptor {
    return this.#core.value;
  }

  async #answer(exchange: Exchange): Promise<Response> {
    const { headers, request } = exchange;
    if (request.bodyUsed || !this.#acceptor.mayBeListen(request.method, headers)) return this.#other(exchange);
    if (this.#off !== undefined) return this.#off.fetch(await this.#withBody(exchange));
    return this.#acceptor.claimsByHeader(headers) ? this.#claimed(exchange) : this.#read(exchange);
  }

  /** A listen by its header fields: who asks is named, or denied, before a byte of the body is read. */
  async #claimed(exchange: Exchange): Promise<Response> {
    const refused = this.#refused(exchange);
    if (refused !== undefined) {
      await exchange.request.body?.cancel();
      return refused;
    }
    const caller = await this.#named(exchange);
    // Cancelled while its first bytes arrive, the body of a host that makes it with `Readable.toWeb` (Node 24) throws where
    // nothing catches: what is not read is the host's to discard.
    if (caller instanceof Response) return caller;
    const read = await this.#withBody(exchange);
    return this.#judged(caller, this.#claim(read), read);
  }

  /** What only its body can show to be a listen; its caller is named before that body is judged. */
  async #read(exchange: Exchange): Promise<Response> {
    const read = await this.#withBody(exchange);
    const claim = this.#claim(read);
    const caller = claim.isListen ? await this.#named(read) : undefined;
    if (caller !== undefined && !(caller instanceof Response)) return this.#judged(caller, claim, read);
    const { rejection } = claim;
    claim.free();
    const refused = caller ?? (rejection && this.#refusals.answer(rejection));
    return refused === undefined ? this.#other(read) : refuse(refused, read);
  }

  /** Judges what is a listen to its end. */
  async #judged(caller: Caller, claim: Claim, exchange: Exchange): Promise<Response> {
    const { headers, request, rest } = exchange;
    const { rejection: ofHttp } = claim;
    if (ofHttp !== undefined) {
      claim.free();
      return refuse(this.#refusals.answer(ofHttp), exchange);
    }
    const verdict = this.#acceptor.judge(headers, claim);
    const { accepted, rejection } = verdict;
    verdict.free();
    const { audiences, claims, expiresAt, name } = caller;
    const asker = { request, principal: name, expiresAt, audiences, claims };
    if (accepted !== undefined) return this.#listen(accepted, asker, rest);
    return this.#refusals.answer(rejection ?? this.#acceptor.refuse(Refusal.Unavailable));
  }

  #claim({ body, headers, request }: Exchange): Claim {
    return this.#acceptor.claim(request.method, headers, body?.bytes ?? new Uint8Array());
  }

  /** What HTTP alone refuses of a listen, whose body nobody has read. */
  #refused(exchange: Exchange): Response | undefined {
    const claim = this.#claim(exchange);
    const { rejection } = claim;
    claim.free();
    return rejection && this.#refusals.answer(rejection);
  }

  /** Who asks, or the answer to who is denied. */
  async #named({ request }: Exchange): Promise<Caller | Response> {
    const caller = await this.#caller(request);
    const { refusal, ...fields } = caller;
    return refusal === undefined ? caller : this.#refusals.denied(this.#acceptor.refuse(refusal), fields);
  }

  async #withBody(exchange: Exchange): Promise<Exchange> {
    const body = await readStart(exchange.request, this.#acceptor.bodyBytes, this.#limits.bodyMs);
    return { ...exchange, body };
  }

  #openingsOf(options: ListenOptions): Openings {
    return new Openings({
      bus: this.bus,
      limits: this.#limits,
      times: timesOf(options),
      authorizing: this.#authorizing,
      naming: this.#naming,
      witness: this.#witness,
      discovery: this.#discovery,
      onerror: this.#onerror,
    });
  }

  #legacyFront({ legacy, listen }: ListenOptions): LegacyFront | undefined {
    const keepsSessions = listen !== 'off' && this.bus.sessions?.isShared;
    const mode = legacy ?? (keepsSessions ? 'sessions' : 'stateless');
    if (mode === 'stateless') return undefined;
    const sessions = mode === 'sessions' ? this.#sessionFront() : undefined;
    return new LegacyFront(this.#core, this.#handler, this.#refusals, sessions);
  }

  #sessionFront(): SessionFront {
    const host = {
      handler: this.#handler,
      isOffering: this.#isOffering,
      limits: { ...this.#limits, uris: this.#acceptor.uris, unnamedShare: this.#principal === undefined ? 1 : 0.5 },
      onerror: this.#onerror,
      refusals: this.#refusals,
      caller: this.#caller.bind(this),
      capabilities: this.#capabilities.bind(this),
      authorize: this.#authorizing.authorize && this.#ask.bind(this, this.#authorizing.authorize),
      open: this.#openings.openSession.bind(this.#openings),
      refuse: (refusal: Refusal) => this.#acceptor.refuse(refusal),
    };
    return new SessionFront(host, sessionsOf(this.bus));
  }

  get #naming(): Naming {
    return { principal: this.#principal, ms: this.#limits.authorizeMs, onerror: this.#onerror };
  }

  #caller(request: Request): Promise<Caller> {
    return callerOf(this.#naming, request);
  }

  /** Whatever is no listen. */
  #other(exchange: Exchange): Response | Promise<Response> {
    return this.#legacy === undefined ? pass(this.#handler, exchange) : this.#legacy.fetch(exchange);
  }

  async #listen(accepted: Accepted, asker: Asker, rest: unknown[]): Promise<Response> {
    try {
      const requested = JSON.parse(accepted.requested) as SubscriptionFilter;
      const permit = await permitOf(this.#authorizing, { ...asker, requested });
      if (permit.refusal !== undefined) return this.#refusals.denied(accepted.refuse(permit.refusal), permit);
      const caller = { ...asker, audiences: permit.audiences };
      const refusal = this.#openings.refusal(asker);
      const opened = refusal ?? (await this.#openings.open(accepted, permit.filter, caller, rest));
      return typeof opened === 'number' ? this.#refusals.answer(accepted.refuse(opened)) : opened;
    } finally {
      accepted.free();
    }
  }

  #ask(authorize: Authorize, context: AuthorizeContext): Promise<Authorization> {
    return ask(authorize, context, this.#limits.authorizeMs);
  }

  /** A handler that does not speak 2026-07-28 tells its capabilities to `initialize` alone; one that throws is broken. */
  async #capabilities(request: Request, rest: unknown[]): Promise<string | undefined> {
    try {
      return await this.#discovery.capabilities(request, rest);
    } catch (error) {
      if (!request.signal.aborted) this.#onerror(error as Error);
      return undefined;
    }
  }
}

/**
 * Whether streams are held.
 *
 * @throws ListenError `invalid-options`.
 */
function expectHolding({ legacy, listen = 'on' }: ListenOptions): boolean {
  if (!['on', 'off'].includes(listen)) throw new ListenError('invalid-options', 'listen must be on or off');
  if (listen === 'off' && legacy === 'sessions') {
    throw new ListenError('invalid-options', 'sessions have streams: legacy must not be sessions where listen is off');
  }
  return listen === 'on';
}

function sessionsOf({ sessions }: ListenBus): SessionStore {
  if (sessions !== undefined) return sessions;
  throw new ListenError('invalid-options', 'this bus holds no sessions');
}

const DRAIN_MS = 30_000;
