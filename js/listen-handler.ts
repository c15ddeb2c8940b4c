import type { AuthorizeContext, AuthorizeOptions } from './auth/authorize.js';
import { contextOf, type Principal, type PrincipalOptions } from './auth/principal.js';
import type { AttachableBus } from './bus/attachable-bus.js';
import { toAttachableBus } from './bus/event-bus-adapter.js';
import { InMemoryBus } from './bus/memory/bus.js';
import { notifierOn } from './bus/notifier.js';
import type { OperatedStreams } from './bus/operator/operator.js';
import type { SessionLimits, SessionStore } from './bus/session-store.js';
import type { EventServer } from './events/serve/host.js';
import { ExchangeDriver } from './exchange-driver.js';
import { advertisingAll } from './handler/advertise-all.js';
import { Discovery, withEvents } from './handler/discovery.js';
import { asFetch, type FetchHandler, type McpHandler } from './handler/handler.js';
import type { ResponseLimits } from './handler/upstream-response.js';
import { ErrorResponses } from './http/error-response.js';
import { refuse } from './http/inbound.js';
import { serviceOf, withCors } from './http/screen.js';
import { expectAmounts } from './model/amount.js';
import { ListenError } from './model/error.js';
import { coreLimits, type ListenLimits, limitsOf } from './model/limits.js';
import type { ListenStats } from './model/stats/listen.js';
import { intervalsOf, type ListenTimeouts, timeoutsOf } from './model/timeouts.js';
import { onceEach, report, safeOnError } from './observe/on-error.js';
import { StreamObserver } from './observe/stream-observer.js';
import { setOperator } from './operator/operators.js';
import {
  advertisesAll,
  type DrainOptions,
  expectEventRights,
  expectListen,
  type LegacyMode,
  type ListenHandler,
  type ListenHandlerOptions,
  legacyOf,
} from './options.js';
import { SessionHandler } from './sessions/handler.js';
import { idleOf, sessionLimits } from './sessions/limits.js';
import { StreamManager } from './streams/index.js';
import { ConcurrencyLimit } from './timing/concurrency-limit.js';
import type { PerInstance } from './wasm/per-instance.js';
import {
  type Exchange,
  Refusal,
  refusalOf,
  type Service,
  type ServiceOptions,
} from './wasm/server/bindings.js';
import { expectLoaded } from './wasm/server/load.js';
import { setAddress } from './web/client-address.js';
import { Credentials } from './web/credentials.js';
import { headerLines } from './web/header-lines.js';
import { isBodyTimeout } from './web/request-body.js';

/**
 * Serves `subscriptions/listen` (2026-07-28) in front of an MCP handler. It handles listen requests
 * itself. All other requests reach `handler` with their body bytes and header fields unchanged,
 * unless their host or origin is not allowed.
 *
 * `Rest` is the list of arguments that the host passes to `fetch` after the request:
 * `[Env, ExecutionContext]` on Workers, the context of Hono, `{ authInfo }` behind `toNodeHandler`.
 * `handler`, `principal` and `authorize` receive all of them. Default: the further parameters of
 * `handler`.
 *
 * @example
 * ```ts
 * export default createListenHandler<[Env, ExecutionContext]>((request) => mcp.fetch(request), {
 *   bus,
 *   principal: (request, env) => userOf(request, env.SESSIONS),
 * }) satisfies ExportedHandler<Env>;
 * ```
 *
 * @example
 * ```ts
 * const bus = new InMemoryBus();
 * const server = createListenHandler(createMcpHandler(publishChanges(factory, bus)), { bus });
 * await server.notify.toolsChanged();
 * const response = await server.fetch(request);
 * ```
 *
 * @throws ListenError `invalid-options`; `not-loaded` if `mcp-listen/slim` was given no module.
 */
export function createListenHandler<Rest extends unknown[] = []>(
  handler: McpHandler<Rest>,
  // `Rest` is inferred from the handler alone: `NoInfer` (TypeScript 7.0) does not support
  // parameter lists.
  options: ListenHandlerOptions<Rest extends unknown[] ? Rest : never> = {},
): ListenHandler<Rest> {
  return forgettableHandler(handler, options as ListenHandlerOptions).server;
}

/** A server, and whether its host can discard it. */
export interface ForgettableHandler<Rest extends unknown[] = []> {
  server: ListenHandler<Rest>;
  /** Returns whether it handles no request, holds no stream, and accepts new ones. */
  isIdle: () => boolean;
}

/** Like {@link createListenHandler}, for a host that discards idle servers. */
export function forgettableHandler<Rest extends unknown[] = []>(
  handler: McpHandler<Rest>,
  options: ListenHandlerOptions<Rest> = {},
): ForgettableHandler<Rest> {
  expectLoaded();
  // The arguments after the request are passed on unread.
  const requestHandler = new RequestHandler(asFetch(handler), options as ListenHandlerOptions);
  const { bus, close, disconnect, drain, fetch, legacy, listeners, stats } = requestHandler;
  const { onError = report, tracer } = options;
  const event = requestHandler.events?.publish.bind(requestHandler.events);
  const notify = notifierOn(bus, tracer && { tracer, onError: safeOnError(onError) }, event);
  const server = { fetch, notify, close, drain, disconnect, listeners, stats, bus, legacy };
  setOperator(server, bus, requestHandler.operated);
  return { server, isIdle: () => requestHandler.isIdle };
}

class RequestHandler {
  readonly bus: AttachableBus;
  readonly legacy: LegacyMode;
  readonly #service: PerInstance<Service>;
  #handler: FetchHandler;
  readonly #advertisesAll: boolean;
  readonly #limits: Required<ListenLimits>;
  readonly #timeouts: Required<ListenTimeouts>;
  readonly #authorizeOptions: AuthorizeOptions<AuthorizeContext>;
  readonly #principal: Principal | undefined;
  readonly #clientAddress: ListenHandlerOptions['clientAddress'];
  readonly #onError: (error: Error) => void;
  readonly #discovery: Discovery;
  readonly #observer: StreamObserver;
  readonly #refusals = new ErrorResponses((kind) => this.#observer.refused(kind));
  readonly #streams: StreamManager;
  /** Serves MCP Events, if the server defines any. */
  readonly events: EventServer | undefined;
  readonly #driver: ExchangeDriver;
  /** Its streams, for the operator of its bus. */
  readonly operated: OperatedStreams = {
    stats: () => this.stats(),
    drain: (order) => this.drain(order),
    listeners: (max, hasCallers) => this.#streams.listeners(max, hasCallers),
    streamsOf: (principal) => this.listeners(principal),
  };
  /** The requests that are being handled. */
  readonly #pending = new ConcurrencyLimit<undefined>();

  constructor(handler: FetchHandler, options: ListenHandlerOptions) {
    const { authorize, principal } = options;
    const onError = onceEach(safeOnError(options.onError ?? report));
    const holdsStreams = expectListen(options);
    expectEventRights(options);
    this.#advertisesAll = advertisesAll(options) && holdsStreams;
    this.#limits = limitsOf(options.limits);
    this.#timeouts = timeoutsOf(options.timeouts);
    this.#handler = this.#advertisesAll
      ? advertisingAll(handler, { limits: this.#reading, onError })
      : handler;
    this.#authorizeOptions = { authorize, ms: this.#timeouts.authorizeMs, onError };
    this.#principal = principal;
    this.#clientAddress = options.clientAddress;
    this.#onError = onError;
    this.#observer = new StreamObserver({ onLog: options.onLog, tracer: options.tracer, onError });
    this.#discovery = new Discovery((request, ...rest) => this.#handler(request, ...rest), {
      server: options.events === undefined ? options.server : withEvents(options.server),
      credentials: new Credentials(options.credentialHeaders),
      limits: this.#reading,
    });
    this.bus = toAttachableBus(options.bus ?? new InMemoryBus({ onError }), onError);
    this.legacy = legacyOf(options, this.bus);
    const bounds =
      this.legacy === 'sessions' ? sessionLimits(this.#limits, principal !== undefined) : undefined;
    const isAuthorized = authorize !== undefined || this.bus.interest !== undefined;
    const legacy = legacyOptionOf(this.legacy, bounds, isAuthorized);
    this.#service = serviceOf(options, { limits: coreLimits(this.#limits), holdsStreams, legacy });
    this.#streams = this.#createStreams(options);
    this.events = this.#createEventServer(options);
    if (this.events !== undefined) this.#handler = this.events.advertising(this.#handler);
    this.#driver = this.#createDriver(bounds && this.#createSessionHandler(bounds));
  }

  readonly fetch = async (request: Request, ...rest: unknown[]): Promise<Response> => {
    const { bodyUsed, headers, method, url } = request;
    let core: Exchange | undefined;
    const place = this.#pending.enter(undefined);
    this.#findAddress(request, rest);
    try {
      const lines = headerLines(headers);
      core = this.#service.value.exchange(method, url, lines, !bodyUsed);
      const { fields } = core;
      const inbound = { request, core, headerLines: lines, rest };
      return withCors(await this.#driver.respond(inbound), fields);
    } catch (error) {
      return this.#afterFailure(error);
    } finally {
      place?.leave();
      core?.free();
    }
  };

  #findAddress(request: Request, rest: unknown[]): void {
    if (this.#clientAddress === undefined) return;
    try {
      if (setAddress(request, this.#clientAddress(request, ...rest))) return;
      this.#onError(new ListenError('authorizer-failed', 'clientAddress returned no IP address'));
    } catch (cause) {
      // The caller counts among those without a known address.
      setAddress(request, undefined);
      this.#onError(new ListenError('authorizer-failed', 'clientAddress threw', { cause }));
    }
  }

  get isIdle(): boolean {
    return this.#pending.isEmpty && this.#streams.isIdle;
  }

  readonly close = (): Promise<void> => this.#streams.close();

  readonly drain = async ({ count, windowMs = DRAIN_MS }: DrainOptions = {}): Promise<void> => {
    expectAmounts('drain', { count, windowMs });
    await this.#streams.drain(windowMs, count);
  };

  readonly disconnect = (principal: string): Promise<void> =>
    this.bus.publish({ kind: 'disconnect', principal });

  readonly listeners = (principal: string): number => this.#streams.streamsOf(principal);

  readonly stats = (): ListenStats => ({
    ...this.#streams.stats,
    refused: { ...this.#refusals.counts },
  });

  /**
   * Refuses a request whose body is late. After a trap of a core the request gets 503, so the
   * client may repeat it.
   */
  #afterFailure(error: unknown): Response {
    if (isBodyTimeout(error)) return this.#refusals.respond(refusalOf(Refusal.BodyTimeout));
    if (!(error instanceof ListenError) || error.code !== 'core-trapped') throw error;
    this.#onError(error);
    return this.#refusals.respond(refusalOf(Refusal.Unavailable));
  }

  #createStreams(options: ListenHandlerOptions): StreamManager {
    return new StreamManager({
      bus: this.bus,
      limits: this.#limits,
      timeouts: this.#timeouts,
      intervals: intervalsOf(options),
      authorizeOptions: this.#authorizeOptions,
      principalOptions: this.#principalOptions,
      observer: this.#observer,
      discovery: this.#discovery,
      service: this.#service,
      onError: this.#onError,
    });
  }

  #createEventServer(options: ListenHandlerOptions): EventServer | undefined {
    const { authorizationTtlMs, keepAliveMs } = intervalsOf(options);
    return options.events?.serve({
      bus: this.bus,
      holdsStreams: expectListen(options),
      principalOptions: this.#principalOptions,
      authorizeMs: this.#timeouts.authorizeMs,
      ...{ authorizationTtlMs, keepAliveMs },
      bodyMs: this.#timeouts.bodyMs,
      writeMs: this.#timeouts.writeMs,
      limits: this.#limits,
      reading: { limits: this.#reading, onError: this.#onError },
      onError: this.#onError,
      open: (stream) => this.#streams.openInner(stream),
      denied: (inbound, refusal, caller) =>
        refuse(this.#refusals.denied(inbound.core.refuse(refusal), caller), inbound),
      contextOf,
    });
  }

  #createSessionHandler(bounds: SessionLimits): SessionHandler {
    const host = {
      handler: this.#handler,
      advertisesAll: this.#advertisesAll,
      events: this.events?.isLegacy === true ? this.events : undefined,
      limits: this.#reading,
      idleMs: idleOf(this.#timeouts.sessionIdleMs),
      bounds,
      onError: this.#onError,
      refusals: this.#refusals,
      waitUntil: (work: Promise<void>) => this.bus.waitUntil?.(work),
      offers: this.#offers.bind(this),
    };
    return new SessionHandler(host, sessionsOf(this.bus));
  }

  #createDriver(sessions: SessionHandler | undefined): ExchangeDriver {
    return new ExchangeDriver({
      handler: this.#handler,
      principalOptions: this.#principalOptions,
      authorizeOptions: this.#authorizeOptions,
      bodyMs: this.#timeouts.bodyMs,
      reading: this.#reading,
      onError: this.#onError,
      refusals: this.#refusals,
      interest: this.bus.interest,
      streams: this.#streams,
      events: this.events,
      sessions,
    });
  }

  /** Limits on reading a response of the handler. */
  get #reading(): ResponseLimits {
    return { responseBytes: this.#limits.responseBytes, responseMs: this.#timeouts.responseMs };
  }

  get #principalOptions(): PrincipalOptions {
    return { principal: this.#principal, ms: this.#timeouts.authorizeMs, onError: this.#onError };
  }

  /**
   * A handler that does not support 2026-07-28 announces its capabilities only in `initialize`. An
   * exception means that the handler is broken.
   */
  async #offers(request: Request, rest: unknown[]): Promise<number | undefined> {
    try {
      return (await this.#discovery.known(request, rest))?.offers;
    } catch (error) {
      if (!request.signal.aborted) this.#onError(error as Error);
      return undefined;
    }
  }
}

/** Returns how the core treats requests of earlier revisions; `limits` bound their sessions. */
function legacyOptionOf(
  legacy: LegacyMode,
  limits: SessionLimits | undefined,
  authorizes: boolean,
): ServiceOptions['legacy'] {
  if (legacy === 'reject') return legacy;
  return limits === undefined ? 'stateless' : { sessions: { limits, authorizes } };
}

function sessionsOf({ sessions }: AttachableBus): SessionStore {
  if (sessions !== undefined) return sessions;
  throw new ListenError('invalid-options', 'this bus does not support sessions');
}

const DRAIN_MS = 30_000;
