import { addressOf } from '../address.js';
import type { AnswerLimits } from '../answer.js';
import { type Asker, type Authorization, type AuthorizeContext, denial, type Right } from '../authorize.js';
import { calling, ListenError } from '../error.js';
import type { FannedStream } from '../fanned-stream.js';
import type { SubscriptionFilter } from '../filter.js';
import type { FetchHandler } from '../handler.js';
import { buffered, raised } from '../offered.js';
import type { Caller } from '../principal.js';
import { json, type Refusals } from '../refusals.js';
import {
  LegacyCall,
  type LegacyInitialized,
  type LegacyRequest,
  listsOf,
  offersSubscribe,
  Refusal,
  type Rejection,
  type Stream,
} from '../wasm.js';
import { type Exchange, refuse, renamed, send } from './exchange.js';
import type { NewSession, SessionLimits, SessionState, SessionStore, SessionStream } from './session-store.js';

/** What serving sessions takes from the server around it. */
export interface SessionHost {
  readonly handler: FetchHandler;
  /** How much sessions may take, and how much is read of answers. */
  readonly limits: SessionLimits & AnswerLimits & { sessionIdleMs: number };
  readonly onerror: (error: Error) => void;
  readonly refusals: Refusals;
  /** Whether changes are told of all that the handler offers. */
  readonly isOffering: boolean;
  /** Names who asks. */
  caller(request: Request): Promise<Caller>;
  /** What the server notifies about, as JSON text; undefined where the handler does not tell. */
  capabilities(request: Request, rest: unknown[]): Promise<string | undefined>;
  /** What the caller may hear of what is requested; undefined: everything. */
  readonly authorize: ((context: AuthorizeContext) => Promise<Authorization>) | undefined;
  /** Opens a stream that `make` makes for a keep-alive interval, unless there is no room. */
  open(asker: Asker, make: (keepAliveMs: number) => Stream, session: SessionStream): Promise<FannedStream | Refusal>;
  /** The refusal of a request that nobody has read. */
  refuse(refusal: Refusal): Rejection;
}

/** What the core says of a request: a refusal, a request of an earlier revision, or nothing. */
export interface Judged {
  rejection: Rejection | undefined;
  legacy: LegacyRequest | undefined;
}

/** Serves the sessions of clients of 2025-11-25 and earlier. */
export class SessionFront {
  readonly #host: SessionHost;
  readonly #sessions: SessionStore;

  constructor(host: SessionHost, sessions: SessionStore) {
    this.#host = host;
    this.#sessions = sessions;
  }

  /**
   * Answers a request that is no listen. Where it has to do with sessions, its caller is named before
   * anything else is said, but for an id that no session can have: that is refused at no cost.
   */
  async serve({ legacy, rejection }: Judged, exchange: Exchange): Promise<Response> {
    if (rejection?.isOfHttp === true) return refuse(this.#host.refusals.answer(rejection), exchange);
    if (rejection === undefined && legacy?.isOfSessions !== true) return this.#pass(exchange);
    const unfounded = await this.#refusalOfId(exchange.request);
    if (unfounded !== undefined) {
      rejection?.free();
      const refused = legacy?.refuse(unfounded) ?? this.#host.refuse(unfounded);
      return refuse(this.#host.refusals.answer(refused), exchange);
    }
    const caller = await this.#host.caller(exchange.request);
    const { refusal } = caller;
    if (refusal !== undefined) {
      rejection?.free();
      return refuse(this.#host.refusals.denied(this.#host.refuse(refusal), caller), exchange);
    }
    if (rejection !== undefined) return refuse(this.#host.refusals.answer(rejection), exchange);
    return legacy === undefined ? this.#pass(exchange) : this.#dispatch(legacy, caller, exchange);
  }

  /** Why the session id alone refuses a request; undefined: a session may have it, or there is none. */
  async #refusalOfId({ headers, signal }: Request): Promise<Refusal | undefined> {
    const id = headers.get('mcp-session-id');
    try {
      const isRefused = id !== null && (await this.#sessions.mayBe?.(id)) === false;
      return isRefused ? Refusal.SessionNotFound : undefined;
    } catch (error) {
      if (!signal.aborted) this.#host.onerror(error as Error);
      return Refusal.Unavailable;
    }
  }

  async #dispatch(
    legacy: LegacyRequest,
    { audiences, claims, expiresAt, name }: Caller,
    exchange: Exchange,
  ): Promise<Response> {
    const { call, session } = legacy;
    const asker = { request: exchange.request, principal: name, expiresAt, audiences, claims };
    if (session === undefined) {
      if (call === LegacyCall.Initialize) return this.#initialize(legacy, asker, exchange);
      return this.#host.refusals.answer(legacy.refuse(Refusal.SessionMissing));
    }
    const state = await this.#guarded(legacy, asker, () => this.#find(legacy, session, asker));
    if (state instanceof Response) return refuse(state, exchange);
    if (call === LegacyCall.Other) return this.#passInSession(session, state, exchange);
    return this.#guarded(legacy, asker, async () => {
      const refused = await this.#tellBehind(call, session, state, exchange);
      return refused ?? this.#inSession(legacy, session, state, asker);
    });
  }

  /** A handler that keeps the session too hears that its client is ready, and that it is over. */
  async #tellBehind(
    call: LegacyCall,
    session: string,
    state: SessionState,
    exchange: Exchange,
  ): Promise<Response | undefined> {
    if (state.behind === undefined || ![LegacyCall.Initialized, LegacyCall.End].includes(call)) return undefined;
    const response = await this.#passInSession(session, state, exchange);
    const { ok, status } = response;
    // One that has no such session any more, or lets no client end one, keeps none of ours alive.
    const isOver = call === LegacyCall.End && [404, 405].includes(status);
    if (!ok && !isOver) return response;
    await response.body?.cancel();
    return undefined;
  }

  /** A handler that keeps no sessions gets no session id: ours is between us and the client. */
  async #passInSession(session: string, { behind }: SessionState, exchange: Exchange): Promise<Response> {
    const response = renamed(await send(this.#host.handler, exchange, behind), session);
    // To its client that means that the session is over, so it is.
    if (response.status === 404 && behind !== undefined) await this.#sessions.end(session);
    return response;
  }

  async #find(legacy: LegacyRequest, session: string, { principal }: Asker): Promise<SessionState | Response> {
    const state = await this.#sessions.find(session, principal);
    return state ?? this.#host.refusals.answer(legacy.refuse(Refusal.SessionNotFound));
  }

  async #inSession(legacy: LegacyRequest, session: string, state: SessionState, asker: Asker): Promise<Response> {
    switch (legacy.call) {
      case LegacyCall.Initialize:
        return this.#host.refusals.answer(legacy.refuse(Refusal.SecondInitialize));
      case LegacyCall.Initialized:
        await this.#sessions.initialized(session);
        return new Response(null, { status: 202 });
      case LegacyCall.Ping:
        return done(legacy);
      case LegacyCall.Open:
        return this.#stream(legacy, session, state, asker);
      case LegacyCall.End:
        await this.#sessions.end(session);
        return new Response(null, { status: 200 });
      default:
        return this.#watching(legacy, session, state, asker);
    }
  }

  async #initialize(legacy: LegacyRequest, asker: Asker, exchange: Exchange): Promise<Response> {
    const passed = await send(this.#host.handler, exchange, undefined);
    if (!passed.ok) return renamed(passed, undefined);
    const read = this.#host.isOffering ? raised : buffered;
    const response = await read(exchange.request, passed, this.#host);
    if (!response.ok) return renamed(response, undefined);
    const bytes = new Uint8Array(await response.arrayBuffer());
    const known = await this.#host.capabilities(exchange.request, exchange.rest);
    const initialized = legacy.initialized(bytes, known);
    const { headers } = response;
    if (initialized === undefined) return renamed(new Response(bytes, { status: response.status, headers }), undefined);
    return this.#guarded(legacy, asker, () => this.#begin(legacy, initialized, headers, asker));
  }

  async #begin(
    legacy: LegacyRequest,
    { answer, capabilities }: LegacyInitialized,
    headers: Headers,
    { principal, request }: Asker,
  ): Promise<Response> {
    const { limits } = this.#host;
    const session: NewSession = { capabilities, idleMs: limits.sessionIdleMs };
    const behind = headers.get('mcp-session-id');
    if (behind !== null) session.behind = behind;
    const address = addressOf(request);
    if (principal !== undefined) session.principal = principal;
    else if (address !== undefined) session.address = address;
    const id = await this.#sessions.create(session, limits);
    if (id === undefined) return this.#host.refusals.answer(legacy.refuse(Refusal.TooManySessions));
    headers.set('content-type', 'application/json');
    headers.set('mcp-session-id', id);
    return new Response(answer, { headers });
  }

  async #watching(
    legacy: LegacyRequest,
    session: string,
    { capabilities }: SessionState,
    asker: Asker,
  ): Promise<Response> {
    if (!offersSubscribe(capabilities)) return this.#host.refusals.inBand(legacy.refuse(Refusal.MethodNotFound));
    const { invalid, uri } = legacy;
    if (invalid !== undefined || uri === undefined)
      return this.#host.refusals.inBand(invalid ?? legacy.refuse(Refusal.MethodNotFound));
    const { limits } = this.#host;
    if (legacy.call === LegacyCall.Unsubscribe) {
      await this.#sessions.unwatch(session, uri);
      return done(legacy);
    }
    const permit = await this.#permit(legacy, { ...asker, requested: { resourceSubscriptions: [uri] } });
    if (permit instanceof Response) return permit;
    // What the caller may not read is answered as what does not exist: it never changes.
    if (permit !== undefined && permit.resourceSubscriptions?.includes(uri) !== true) {
      await this.#sessions.unwatch(session, uri);
      return done(legacy);
    }
    const excess = await this.#sessions.watch(session, uri, limits);
    return excess === undefined
      ? done(legacy)
      : this.#host.refusals.inBand(legacy.refuseUri(limits[excess], excess !== 'uris'));
  }

  /** A stream that comes back takes the place of the one it was, whose end may not have been noticed yet. */
  async #stream(
    legacy: LegacyRequest,
    session: string,
    { capabilities, isStreaming, since: beginning }: SessionState,
    asker: Asker,
  ): Promise<Response> {
    const { lastEventId } = legacy;
    if (isStreaming && lastEventId === undefined) return this.#host.refusals.answer(legacy.refuse(Refusal.StreamTaken));
    const watched = this.#host.authorize === undefined ? [] : await this.#sessions.watched(session);
    const requested = JSON.parse(listsOf(capabilities)) as SubscriptionFilter;
    if (watched.length > 0) requested.resourceSubscriptions = watched;
    const permit = await this.#permit(legacy, { ...asker, requested });
    if (permit instanceof Response) return permit;
    // Nobody knows what a client without an event id has heard: since the session began, perhaps nothing.
    const since = lastEventId ?? beginning;
    const authorized = permit && JSON.stringify(permit);
    const make = (keepAliveMs: number): Stream =>
      calling(() => legacy.open(capabilities, watched, authorized, since, keepAliveMs, performance.now()));
    const { audiences = asker.audiences } = permit ?? {};
    const opened = await this.#host.open({ ...asker, audiences }, make, {
      id: session,
      principal: asker.principal,
    });
    return typeof opened === 'number' ? this.#host.refusals.answer(legacy.refuse(opened)) : opened.response();
  }

  /** What the caller may hear of what it requests; undefined: all of it. */
  async #permit(legacy: LegacyRequest, context: AuthorizeContext): Promise<Right | undefined | Response> {
    const authorization = await this.#host.authorize?.(context);
    if (authorization === undefined || !('denied' in authorization)) return authorization;
    const { refusal, ...fields } = denial(authorization);
    return this.#host.refusals.denied(legacy.refuse(refusal), fields);
  }

  /** What fails on our side is reported, and tells the caller nothing but to come back. */
  async #guarded<T>(legacy: LegacyRequest, { request }: Asker, action: () => Promise<T>): Promise<T | Response> {
    try {
      return await action();
    } catch (error) {
      // A client that has left is nobody's error, and hears no answer.
      if (!request.signal.aborted) this.#host.onerror(error as Error);
      const isAuthorizer = error instanceof ListenError && error.code.startsWith('authorizer');
      return this.#host.refusals.answer(legacy.refuse(isAuthorizer ? Refusal.AuthorizerFailed : Refusal.Unavailable));
    }
  }

  /** What has to do with no session of ours has to do with none of the handler behind either. */
  async #pass(exchange: Exchange): Promise<Response> {
    return renamed(await send(this.#host.handler, exchange, undefined), undefined);
  }
}

function done(legacy: LegacyRequest): Response {
  return json(legacy.done ?? '');
}
