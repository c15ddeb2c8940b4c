import {
  type Authorization,
  type Authorize,
  type AuthorizeContext,
  type AuthorizeOptions,
  ask,
  runAuthorize,
} from './auth/authorize.js';
import { type Caller, callerOf, type Principal, type PrincipalOptions } from './auth/principal.js';
import type { AttachableBus } from './bus/attachable-bus.js';
import { toAttachableBus } from './bus/event-bus-adapter.js';
import { InMemoryBus } from './bus/memory/memory-bus.js';
import { notifierOn } from './bus/notifier.js';
import type { SessionLimits, SessionStore } from './bus/session-store.js';
import { advertisingAll, withheld } from './handler/advertise-all.js';
import { Discovery } from './handler/discovery.js';
import { asFetch, type FetchHandler, type McpHandler } from './handler/handler.js';
import { type DenialFields, ErrorResponses } from './http/error-response.js';
import { type Judged, pass, refuse } from './http/inbound.js';
import { leaveBody, linesOf, serviceOf, withCors } from './http/origin-guard.js';
import { ListenError } from './model/error.js';
import type { SubscriptionFilter } from './model/filter.js';
import { type DEFAULT_LIMITS, limitsOf } from './model/limits.js';
import type { ListenStats } from './model/stats.js';
import { timeoutsOf } from './model/timeouts.js';
import { onceEach, report } from './observe/on-error.js';
import { StreamObserver } from './observe/stream-observer.js';
import type { ListenHandler, ListenHandlerOptions } from './options.js';
import { SessionHandler } from './sessions/session-handler.js';
import { sessionLimits } from './sessions/session-limits.js';
import { StreamManager } from './streams/manager.js';
import type { PerInstance } from './wasm/per-instance.js';
import { type Exchange, Refusal, refusalOf, type Service, type ServiceOptions } from './wasm/server/bindings.js';
import { serverGuard } from './wasm/server/guard.js';
import { expectLoaded } from './wasm/server/load.js';
import { Credentials } from './web/credentials.js';
import { isBodyTimeout, readStart } from './web/request-body.js';

/**
 * Serves `subscriptions/listen` (2026-07-28) in front of an MCP handler. Listens are answered here;
 * all other requests that name this host, and come from a page that may ask or from no page at all, reach
 * `handler` with body bytes and headers as they came.
 *
 * @throws ListenError `invalid-options`; `not-loaded` where `mcp-listen/slim` was given no module.
 */
export function createListenHandler(handler: McpHandler, options: ListenHandlerOptions = {}): ListenHandler {
  return forgettableHandler(handler, options).server;
}

/** A server, and whether it can be forgotten. */
export interface ForgettableHandler {
  server: ListenHandler;
  /** Returns whether it answers no request, holds no stream, and takes new ones. */
  isIdle: () => boolean;
}

/** As {@link createListenHandler}, for a host that forgets servers which are idle. */
export function forgettableHandler(handler: McpHandler, options: ListenHandlerOptions = {}): ForgettableHandler {
  expectLoaded();
  const front = new ListenFront(asFetch(handler), options);
  const { bus, close, drain, fetch, revoke, shed, stats } = front;
  const { onerror = report, tracer } = options;
  const notify = notifierOn(bus, tracer && { tracer, onerror });
  const server = { fetch, notify, revoke, close, drain, shed, stats, bus };
  return { server, isIdle: () => front.isIdle };
}

class ListenFront {
  readonly bus: AttachableBus;
  readonly #service: PerInstance<Service>;
  readonly #handler: FetchHandler;
  readonly #isOffering: boolean;
  readonly #limits: typeof DEFAULT_LIMITS;
  readonly #authorizing: AuthorizeOptions<AuthorizeContext>;
  readonly #principal: Principal | undefined;
  readonly #onerror: (error: Error) => void;
  readonly #discovery: Discovery;
  readonly #witness: StreamObserver;
  readonly #refusals = new ErrorResponses((kind) => this.#witness.refused(kind));
  readonly #openings: StreamManager;
  /** Serves earlier revisions where sessions are kept. */
  readonly #sessions: SessionHandler | undefined;
  /** Requests that are being answered. */
  #underWay = 0;

  constructor(handler: FetchHandler, options: ListenHandlerOptions) {
    const { authorize, capabilities, limits, principal, serverInfo } = options;
    const onerror = onceEach(options.onerror ?? report);
    const holdsStreams = expectHolding(options);
    this.#isOffering = capabilities === 'offered' && holdsStreams;
    this.#limits = limitsOf(limits);
    this.#handler = this.#isOffering ? advertisingAll(handler, { limits: this.#limits, onerror }) : handler;
    this.#authorizing = { authorize, ms: this.#limits.authorizeMs, onerror };
    this.#principal = principal;
    this.#onerror = onerror;
    this.#witness = new StreamObserver({ onlog: options.onlog, tracer: options.tracer, onerror });
    this.#discovery = new Discovery(this.#handler, {
      capabilities: capabilities === 'offered' ? undefined : capabilities,
      serverInfo,
      credentials: new Credentials(options.credentialHeaders),
      limits: this.#limits,
    });
    this.bus = toAttachableBus(options.bus ?? new InMemoryBus(onerror), onerror);
    const bounds = keepsSessions(options, this.bus) ? sessionLimits(this.#limits, principal !== undefined) : undefined;
    const earlier = earlierOf(options, bounds);
    this.#service = serviceOf(options, { limits: JSON.stringify(limits), holdsStreams, earlier });
    this.#openings = this.#openingsOf(options);
    this.#sessions = bounds && this.#sessionFront(bounds);
  }

  readonly fetch = async (request: Request, ...rest: unknown[]): Promise<Response> => {
    const { bodyUsed, headers, method, url } = request;
    let core: Exchange | undefined;
    this.#underWay += 1;
    try {
      core = this.#service.value.exchange(method, url, linesOf(headers), !bodyUsed);
      const { fields } = core;
      return withCors(await this.#answer({ request, core, rest }), fields);
    } catch (error) {
      return this.#afterFailure(error);
    } finally {
      this.#underWay -= 1;
      core?.free();
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
    if (isBodyTimeout(error)) return this.#refusals.answer(refusalOf(Refusal.BodyTimeout));
    if (!serverGuard.isTrapError(error)) throw error;
    this.#onerror(error as Error);
    return this.#refusals.answer(refusalOf(Refusal.Unavailable));
  }

  /** Does for a request what the core asks for, until it is answered. */
  async #answer(inbound: Judged): Promise<Response> {
    const { core, request } = inbound;
    let caller: Caller = {};
    for (;;) {
      const step = core.step();
      switch (step.kind) {
        case 'body':
          inbound.body = await readStart(request, step.most, this.#limits.bodyMs);
          core.read(inbound.body.bytes);
          break;
        case 'caller':
          caller = await callerOf(this.#naming, request);
          if (caller.refusal !== undefined) return this.#denied(inbound, caller.refusal, caller);
          core.named(caller.name);
          break;
        case 'session': {
          const refusal = await this.#sessions?.refusalOfId(request);
          if (refusal !== undefined) return refuse(this.#refusals.answer(core.refuse(refusal)), inbound);
          core.known();
          break;
        }
        case 'answer':
          if (step.answer.isUnread) await leaveBody(request);
          return refuse(this.#refusals.answer(step.answer), inbound);
        case 'listen':
          return this.#listen(inbound, step.requested, caller);
        case 'pass':
          return this.#pass(inbound, step.withholds);
        default:
          return this.#sessions?.serve(inbound, caller) ?? pass(this.#handler, inbound);
      }
    }
  }

  /** Who is denied is told nothing of its request. */
  #denied(inbound: Judged, refusal: Refusal, fields: DenialFields): Promise<Response> {
    return refuse(this.#refusals.denied(inbound.core.refuse(refusal), fields), inbound);
  }

  /** Whatever is not ours. */
  async #pass(inbound: Judged, withholds: boolean): Promise<Response> {
    if (this.#sessions !== undefined) return this.#sessions.pass(inbound);
    const answer = await pass(this.#handler, inbound);
    if (!withholds || !answer.ok) return answer;
    return withheld(inbound.request, answer, { limits: this.#limits, onerror: this.#onerror });
  }

  #openingsOf(options: ListenHandlerOptions): StreamManager {
    return new StreamManager({
      bus: this.bus,
      limits: this.#limits,
      times: timeoutsOf(options),
      authorizing: this.#authorizing,
      naming: this.#naming,
      witness: this.#witness,
      discovery: this.#discovery,
      onerror: this.#onerror,
    });
  }

  #sessionFront(bounds: SessionLimits): SessionHandler {
    const host = {
      handler: this.#handler,
      isOffering: this.#isOffering,
      limits: this.#limits,
      bounds,
      onerror: this.#onerror,
      refusals: this.#refusals,
      capabilities: this.#capabilities.bind(this),
      authorize: this.#authorizing.authorize && this.#ask.bind(this, this.#authorizing.authorize),
      open: this.#openings.openSession.bind(this.#openings),
    };
    return new SessionHandler(host, sessionsOf(this.bus));
  }

  get #naming(): PrincipalOptions {
    return { principal: this.#principal, ms: this.#limits.authorizeMs, onerror: this.#onerror };
  }

  async #listen(
    { core, request, rest }: Judged,
    text: string,
    { audiences, claims, expiresAt, name }: Caller,
  ): Promise<Response> {
    const asker = { request, principal: name, expiresAt, audiences, claims };
    const requested = JSON.parse(text) as SubscriptionFilter;
    const permit = await runAuthorize(this.#authorizing, { ...asker, requested });
    if (permit.refusal !== undefined) return this.#refusals.denied(core.refuse(permit.refusal), permit);
    const caller = { ...asker, audiences: permit.audiences };
    const refusal = this.#openings.refusal(asker);
    const opened = refusal ?? (await this.#openings.open(core, permit.filter, caller, rest));
    return typeof opened === 'number' ? this.#refusals.answer(core.refuse(opened)) : opened;
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
function expectHolding({ legacy, listen = 'on' }: ListenHandlerOptions): boolean {
  if (!['on', 'off'].includes(listen)) throw new ListenError('invalid-options', 'listen must be on or off');
  if (listen === 'off' && legacy === 'sessions') {
    throw new ListenError('invalid-options', 'sessions have streams: legacy must not be sessions where listen is off');
  }
  return listen === 'on';
}

/** Whether sessions of earlier revisions are kept: by default where the bus shares its sessions with all isolates. */
function keepsSessions({ legacy, listen }: ListenHandlerOptions, { sessions }: AttachableBus): boolean {
  return legacy === 'sessions' || (legacy === undefined && listen !== 'off' && sessions?.isShared === true);
}

/** What becomes of requests of earlier revisions, where sessions may take this; undefined: none is kept. */
function earlierOf(options: ListenHandlerOptions, limits: SessionLimits | undefined): ServiceOptions['earlier'] {
  if (options.legacy === 'reject') return 'refused';
  if (limits === undefined) return 'behind';
  return { sessions: { limits, authorizes: options.authorize !== undefined } };
}

function sessionsOf({ sessions }: AttachableBus): SessionStore {
  if (sessions !== undefined) return sessions;
  throw new ListenError('invalid-options', 'this bus holds no sessions');
}

const DRAIN_MS = 30_000;
