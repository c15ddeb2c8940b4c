import { type Asker, type Authorization, type Authorize, type AuthorizeContext, ask, permitOf } from './authorize.js';
import { readStart, unread } from './body.js';
import type { ListenBus } from './bus/bus.js';
import { asListenBus } from './bus/foreign.js';
import { InMemoryBus } from './bus/memory.js';
import { Discovery } from './discover.js';
import { calling, fromCore, ListenError } from './error.js';
import type { FannedStream } from './fanned-stream.js';
import { FanoutStreams } from './fanout-streams.js';
import type { SubscriptionFilter } from './filter.js';
import { Front } from './front.js';
import { asFetch, type FetchHandler, type McpHandler } from './handler.js';
import { host } from './host.js';
import { type Exchange, pass, refuse } from './legacy/exchange.js';
import { LegacyFront } from './legacy/legacy-front.js';
import { SessionFront } from './legacy/session-front.js';
import type { SessionStore, SessionStream } from './legacy/session-store.js';
import { DEFAULT_LIMITS } from './limits.js';
import { expectLoaded } from './load.js';
import { notifierOn } from './notify.js';
import type { ListenOptions, ListenServer } from './options.js';
import { type Caller, callerOf, type Principal } from './principal.js';
import { Refusals } from './refusals.js';
import { report } from './report.js';
import { type HeldStream, ListenStream, type StreamOptions } from './stream.js';
import { type ListenStats, Streams } from './streams.js';
import { scattered, type Times, timesOf } from './times.js';
import { type Accepted, Acceptor, type Claim, type Discovered, type Edge, Refusal, Retirement } from './wasm.js';
import { type StreamWitness, Witness } from './witness.js';

/**
 * Serves `subscriptions/listen` (2026-07-28) in front of an MCP handler. Listens are answered here;
 * all other requests that name this host, and come from a page that may ask or from no page at all, reach
 * `handler` with body bytes and headers as they came.
 *
 * @throws ListenError `invalid-options`; `not-loaded` where `mcp-listen/slim` was given no module.
 */
export function serveListen(handler: McpHandler, options: ListenOptions = {}): ListenServer {
  expectLoaded();
  const front = new ListenFront(asFetch(handler), options);
  const { bus, close, drain, fetch, shed, stats } = front;
  return { fetch, notify: notifierOn(bus, options.tracer), close, drain, shed, stats, bus };
}

class ListenFront {
  readonly bus: ListenBus;
  readonly #front: Front;
  readonly #handler: FetchHandler;
  readonly #acceptor: Acceptor;
  readonly #limits: typeof DEFAULT_LIMITS;
  readonly #authorize: Authorize | undefined;
  readonly #principal: Principal | undefined;
  readonly #times: Required<Times>;
  readonly #onerror: (error: Error) => void;
  readonly #discovery: Discovery;
  readonly #witness: Witness;
  readonly #refusals = new Refusals((kind) => this.#witness.refused(kind));
  readonly #streams: Streams;
  /** Those whose bus is of this process. */
  readonly #fanout: FanoutStreams | undefined;
  readonly #legacy: LegacyFront | undefined;
  #opening = 0;
  #isClosing = false;
  #isDraining = false;

  constructor(handler: FetchHandler, options: ListenOptions) {
    const { authorize, capabilities, limits, onerror = report, principal, serverInfo } = options;
    this.#front = new Front(options, options.legacy === 'reject', this.#refusals);
    this.#handler = handler;
    this.#acceptor = calling(() => new Acceptor(JSON.stringify(limits)));
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    this.#authorize = authorize;
    this.#principal = principal;
    this.#times = timesOf(options);
    this.#streams = new Streams(this.#limits.closeMs);
    this.#onerror = onerror;
    this.#witness = new Witness({ onlog: options.onlog, tracer: options.tracer, onerror });
    this.#discovery = new Discovery(handler, capabilities, serverInfo);
    this.bus = asListenBus(options.bus ?? new InMemoryBus(onerror), onerror);
    this.#fanout = host.fansOut ? this.#fanoutOn(this.bus) : undefined;
    this.#legacy = this.#legacyFront(options);
  }

  readonly fetch = async (request: Request, ...rest: unknown[]): Promise<Response> => {
    const headers = [...request.headers].map((field) => field.join(': ')).join('\n');
    return this.#front.guard(request, headers, () => this.#answer(request, headers, rest));
  };

  readonly close = async (): Promise<void> => {
    this.#isClosing = true;
    await this.#streams.close();
  };

  readonly drain = async ({ windowMs = DRAIN_MS } = {}): Promise<void> => {
    this.#isDraining = true;
    await this.#streams.drain(windowMs);
  };

  readonly shed = async (streams: number, { windowMs = DRAIN_MS } = {}): Promise<void> => {
    await this.#streams.shed(streams, windowMs);
  };

  readonly stats = (): ListenStats => {
    const stats = { ...this.#streams.stats, refused: { ...this.#refusals.counts } };
    const { away = 0, gaps = 0, healed = 0, outages = 0 } = this.bus.tally ?? {};
    stats.away += away;
    stats.gaps += gaps;
    stats.healed += healed;
    stats.outages += outages;
    return stats;
  };

  async #answer(request: Request, headers: string, rest: unknown[]): Promise<Response> {
    if (request.bodyUsed || !this.#acceptor.mayBeListen(request.method, headers)) {
      return this.#other({ request, headers, rest });
    }
    const isTooLarge = this.#acceptor.declaresTooLarge(headers);
    const body = isTooLarge ? unread(request) : await readStart(request, this.#acceptor.bodyBytes);
    const exchange = { request, headers, body, rest };
    const claim = this.#acceptor.claim(request.method, headers, body.bytes);
    const { isListen, rejection } = claim;
    if (isListen) return this.#judge(claim, exchange);
    claim.free();
    return rejection === undefined ? this.#other(exchange) : refuse(this.#refusals.answer(rejection), exchange);
  }

  /** Whoever asks is named, or denied, before the body is looked at. */
  async #judge(claim: Claim, { headers, request, rest }: Exchange): Promise<Response> {
    const { expiresAt, name, refusal, wwwAuthenticate } = await this.#caller(request);
    if (refusal !== undefined) {
      claim.free();
      return this.#refusals.denied(this.#acceptor.refuse(refusal), { wwwAuthenticate });
    }
    const verdict = this.#acceptor.judge(headers, claim);
    const { accepted, rejection } = verdict;
    verdict.free();
    if (accepted !== undefined) return this.#listen(accepted, { request, principal: name, expiresAt }, rest);
    return this.#refusals.answer(rejection ?? this.#acceptor.refuse(Refusal.Unavailable));
  }

  #legacyFront({ legacy }: ListenOptions): LegacyFront | undefined {
    const mode = legacy ?? (this.bus.sessions?.isShared ? 'sessions' : 'stateless');
    if (mode === 'stateless') return undefined;
    const sessions = mode === 'sessions' ? this.#sessionFront() : undefined;
    return new LegacyFront(this.#acceptor, this.#handler, this.#refusals, sessions);
  }

  #sessionFront(): SessionFront {
    const host = {
      handler: this.#handler,
      limits: this.#limits,
      uris: this.#acceptor.uris,
      onerror: this.#onerror,
      refusals: this.#refusals,
      caller: this.#caller.bind(this),
      capabilities: this.#capabilities.bind(this),
      authorize: this.#authorize && this.#ask.bind(this, this.#authorize),
      open: this.#openSession.bind(this),
      refuse: (refusal: Refusal) => this.#acceptor.refuse(refusal),
    };
    return new SessionFront(host, sessionsOf(this.bus));
  }

  #caller(request: Request): Promise<Caller> {
    const naming = { principal: this.#principal, ms: this.#limits.authorizeMs, onerror: this.#onerror };
    return callerOf(naming, request);
  }

  /** Whatever is no listen. */
  #other(exchange: Exchange): Response | Promise<Response> {
    return this.#legacy === undefined ? pass(this.#handler, exchange) : this.#legacy.fetch(exchange);
  }

  async #listen(accepted: Accepted, asker: Asker, rest: unknown[]): Promise<Response> {
    try {
      const requested = JSON.parse(accepted.requested) as SubscriptionFilter;
      const asking = { authorize: this.#authorize, ms: this.#limits.authorizeMs, onerror: this.#onerror };
      const permit = await permitOf(asking, { ...asker, requested });
      if (permit.refusal !== undefined) return this.#refusals.denied(accepted.refuse(permit.refusal), permit);
      const refusal = this.#refusal();
      if (refusal !== undefined) return this.#refusals.answer(accepted.refuse(refusal));
      return await this.#open(accepted, permit.filter, asker, rest);
    } finally {
      accepted.free();
    }
  }

  #ask(authorize: Authorize, context: AuthorizeContext): Promise<Authorization> {
    return ask(authorize, context, this.#limits.authorizeMs);
  }

  /** Why no further stream can be opened now. */
  #refusal(): Refusal | undefined {
    if (this.#isClosing || this.#isDraining) return Refusal.Closing;
    return this.#streams.size + this.#opening >= this.#limits.streams ? Refusal.TooManyStreams : undefined;
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

  async #openSession(
    asker: Asker,
    make: (keepAliveMs: number) => Edge,
    session: SessionStream,
  ): Promise<ListenStream | Refusal> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return refusal;
    this.#opening += 1;
    try {
      const stream = await ListenStream.open(make(this.#keepAliveMs()), { ...this.#streamOptions(asker), session });
      return this.#alone(stream, this.#witness.opened('session', asker.request));
    } finally {
      this.#opening -= 1;
    }
  }

  async #open(accepted: Accepted, permit: string | undefined, asker: Asker, rest: unknown[]): Promise<Response> {
    const { request } = asker;
    this.#opening += 1;
    try {
      const stream =
        this.#fanout === undefined
          ? await this.#openAlone(accepted, permit, asker, rest)
          : await this.#openFanned(this.#fanout, accepted, permit, asker, rest);
      return stream.response();
    } catch (error) {
      // A client that left while its stream was opening is nobody's error, and hears no answer.
      if (!request.signal.aborted) this.#onerror(error as Error);
      return this.#refusals.answer(accepted.refuse(this.#isClosing ? Refusal.Closing : Refusal.Unavailable));
    } finally {
      this.#opening -= 1;
    }
  }

  async #openAlone(
    accepted: Accepted,
    permit: string | undefined,
    asker: Asker,
    rest: unknown[],
  ): Promise<ListenStream> {
    const edge = await this.#discovery.use(asker.request, rest, (known) => this.#edge(accepted, known, permit));
    const stream = await ListenStream.open(edge, this.#streamOptions(asker));
    return this.#alone(stream, this.#witness.opened('listen', asker.request));
  }

  #openFanned(
    fanout: FanoutStreams,
    accepted: Accepted,
    permit: string | undefined,
    { expiresAt, request }: Asker,
    rest: unknown[],
  ): Promise<FannedStream> {
    const times = { keepAliveMs: this.#keepAliveMs(), maxAgeMs: scattered(this.#times.maxAgeMs) };
    return this.#discovery.use(request, rest, (known) => {
      const stream = fanout.open({ accepted, known, permit, ...times, expiresAt, signal: request.signal });
      this.#hold(stream, this.#witness.opened('listen', request));
      return stream;
    });
  }

  #fanoutOn({ feed }: ListenBus): FanoutStreams | undefined {
    if (feed === undefined) return undefined;
    return new FanoutStreams({
      feed: feed.bind(this.bus),
      tally: this.#streams.tally,
      stallMs: this.#times.stallMs,
      onended: (stream, ending) => this.#streams.release(stream, ending),
    });
  }

  /** Holds a stream that has an end of its own to tell. */
  #alone(stream: ListenStream, witness: StreamWitness | undefined): ListenStream {
    this.#hold(stream, witness);
    void stream.ended.then((ending) => this.#streams.release(stream, ending));
    return stream;
  }

  #edge(accepted: Accepted, discovered: Discovered, permit: string | undefined): Edge {
    try {
      return accepted.open(discovered, permit, this.#keepAliveMs(), performance.now());
    } catch (error) {
      throw fromCore(error);
    }
  }

  #streamOptions({ expiresAt, request }: Asker): StreamOptions {
    const { signal } = request;
    const { stallMs, maxAgeMs, verifyMs } = this.#times;
    const { attachMs } = this.#limits;
    const times = { attachMs, stallMs, maxAgeMs: scattered(maxAgeMs), verifyMs: scattered(verifyMs) };
    const { tally } = this.#streams;
    return {
      bus: this.bus,
      signal,
      tally,
      ...times,
      expiresAt,
      onerror: this.#onerror,
      onaway: (stream, isAway) => this.#streams.away(stream, isAway),
      continent: continentOf(request),
    };
  }

  #keepAliveMs(): number {
    return scattered(this.#times.keepAliveMs);
  }

  #hold(stream: HeldStream, witness: StreamWitness | undefined): void {
    this.#streams.hold(stream, witness);
    if (this.#isDraining) stream.retire(performance.now(), Retirement.Drained);
    if (this.#isClosing) stream.close();
  }
}

/** On Workers, where the client is. */
function continentOf(request: Request): string | undefined {
  const { continent } = (request as { cf?: { continent?: unknown } }).cf ?? {};
  return typeof continent === 'string' ? continent : undefined;
}

function sessionsOf({ sessions }: ListenBus): SessionStore {
  if (sessions !== undefined) return sessions;
  throw new ListenError('invalid-options', 'this bus holds no sessions');
}

const DRAIN_MS = 30_000;
