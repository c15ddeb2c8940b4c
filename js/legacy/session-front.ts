import { answer, denied, inBand, json } from '../answer.js';
import type { Authorization } from '../authorize.js';
import { ListenError } from '../error.js';
import type { SubscriptionFilter } from '../filter.js';
import type { FetchHandler } from '../handler.js';
import type { ListenStream } from '../stream.js';
import {
  type Edge,
  LegacyCall,
  type LegacyInitialized,
  type LegacyRequest,
  listsOf,
  offersSubscribe,
  Refusal,
} from '../wasm.js';
import { type Exchange, pass } from './exchange.js';
import type { NewSession, SessionState, SessionStore, SessionStream } from './session-store.js';

/** Names the caller of a request, where callers are told apart: a session is its principal's alone. */
export type Principal = (request: Request) => string | undefined | Promise<string | undefined>;

/** What serving sessions takes from the server around it. */
export interface SessionHost {
  readonly handler: FetchHandler;
  /** How many resources one session may watch. */
  readonly uris: number;
  readonly principal: Principal | undefined;
  readonly limits: { sessions: number; sessionIdleMs: number };
  readonly onerror: (error: Error) => void;
  /** What the server notifies about, as JSON text; undefined where the handler does not tell. */
  capabilities(request: Request, rest: unknown[]): Promise<string | undefined>;
  /** What the caller may hear of what is requested. */
  authorize(request: Request, requested: SubscriptionFilter): Promise<Authorization>;
  /** Opens a stream that `make` makes for a keep-alive interval, unless there is no room. */
  open(request: Request, make: (keepAliveMs: number) => Edge, session: SessionStream): Promise<ListenStream | Refusal>;
}

/** Serves the sessions of clients of 2025-11-25 and earlier. */
export class SessionFront {
  readonly #host: SessionHost;
  readonly #sessions: SessionStore;

  constructor(host: SessionHost, sessions: SessionStore) {
    this.#host = host;
    this.#sessions = sessions;
  }

  /** Answers a request of an earlier revision. */
  async serve(legacy: LegacyRequest, exchange: Exchange): Promise<Response> {
    const { call, needsSession, session } = legacy;
    const { request } = exchange;
    if (session === undefined) {
      if (call === LegacyCall.Initialize) return this.#initialize(legacy, exchange);
      return needsSession ? answer(legacy.refuse(Refusal.SessionMissing)) : this.#pass(exchange);
    }
    const state = await this.#guarded(legacy, request, () => this.#find(legacy, session, request));
    if (state instanceof Response) return state;
    if (call === LegacyCall.Other) return this.#pass(exchange);
    return this.#guarded(legacy, request, () => this.#inSession(legacy, session, state, request));
  }

  async #find(legacy: LegacyRequest, session: string, request: Request): Promise<SessionState | Response> {
    const principal = await this.#principal(request);
    const state = await this.#sessions.find(session, principal);
    return state ?? answer(legacy.refuse(Refusal.SessionNotFound));
  }

  async #inSession(legacy: LegacyRequest, session: string, state: SessionState, request: Request): Promise<Response> {
    switch (legacy.call) {
      case LegacyCall.Initialize:
        return answer(legacy.refuse(Refusal.SecondInitialize));
      case LegacyCall.Initialized:
        return new Response(null, { status: 202 });
      case LegacyCall.Ping:
        return done(legacy);
      case LegacyCall.Open:
        return this.#stream(legacy, session, state, request);
      case LegacyCall.End:
        await this.#sessions.end(session);
        return new Response(null, { status: 200 });
      default:
        return this.#watching(legacy, session, state, request);
    }
  }

  async #initialize(legacy: LegacyRequest, exchange: Exchange): Promise<Response> {
    const response = await this.#pass(exchange);
    if (!response.ok) return response;
    const bytes = new Uint8Array(await response.arrayBuffer());
    const known = await this.#host.capabilities(exchange.request, exchange.rest);
    const initialized = legacy.initialized(bytes, known);
    if (initialized === undefined) return new Response(bytes, response);
    return this.#guarded(legacy, exchange.request, () => this.#begin(legacy, initialized, response, exchange.request));
  }

  async #begin(
    legacy: LegacyRequest,
    initialized: LegacyInitialized,
    { headers: given }: Response,
    request: Request,
  ): Promise<Response> {
    const { answer: text, capabilities } = initialized;
    initialized.free();
    const { limits } = this.#host;
    const principal = await this.#principal(request);
    const session: NewSession = { id: crypto.randomUUID(), capabilities, idleMs: limits.sessionIdleMs };
    if (principal !== undefined) session.principal = principal;
    if (!(await this.#sessions.create(session, limits.sessions))) return answer(legacy.refuse(Refusal.TooManySessions));
    const headers = new Headers(given);
    for (const name of ['content-length', 'content-encoding']) headers.delete(name);
    headers.set('content-type', 'application/json');
    headers.set('mcp-session-id', session.id);
    return new Response(text, { headers });
  }

  async #watching(
    legacy: LegacyRequest,
    session: string,
    { capabilities }: SessionState,
    request: Request,
  ): Promise<Response> {
    if (!offersSubscribe(capabilities)) return inBand(legacy.refuse(Refusal.MethodNotFound));
    const { invalid, uri } = legacy;
    if (invalid !== undefined || uri === undefined) return inBand(invalid ?? legacy.refuse(Refusal.MethodNotFound));
    const { uris } = this.#host;
    if (legacy.call === LegacyCall.Unsubscribe) {
      await this.#sessions.unwatch(session, uri);
      return done(legacy);
    }
    const permit = await this.#permit(legacy, request, { resourceSubscriptions: [uri] });
    if (permit instanceof Response) return permit;
    // What the caller may not read is answered as what does not exist: it never changes.
    if (permit.resourceSubscriptions?.includes(uri) !== true) return done(legacy);
    if (await this.#sessions.watch(session, uri, uris)) return done(legacy);
    return inBand(legacy.refuseUri(uris));
  }

  /** A stream that comes back takes the place of the one it was, whose end may not have been noticed yet. */
  async #stream(
    legacy: LegacyRequest,
    session: string,
    { capabilities, isStreaming }: SessionState,
    request: Request,
  ): Promise<Response> {
    const since = legacy.lastEventId;
    if (isStreaming && since === undefined) return answer(legacy.refuse(Refusal.StreamTaken));
    const lists = JSON.parse(listsOf(capabilities)) as SubscriptionFilter;
    const permit = await this.#permit(legacy, request, lists);
    if (permit instanceof Response) return permit;
    const make = (keepAliveMs: number): Edge =>
      legacy.open(capabilities, JSON.stringify(permit), keepAliveMs, performance.now());
    const stream = since === undefined ? { id: session } : { id: session, since };
    const opened = await this.#host.open(request, make, stream);
    return typeof opened === 'number' ? answer(legacy.refuse(opened)) : opened.response();
  }

  async #permit(
    legacy: LegacyRequest,
    request: Request,
    requested: SubscriptionFilter,
  ): Promise<SubscriptionFilter | Response> {
    const authorization = await this.#host.authorize(request, requested);
    if (!('denied' in authorization)) return authorization;
    const refusal = authorization.denied === 401 ? Refusal.Unauthorized : Refusal.Forbidden;
    return denied(legacy.refuse(refusal), authorization);
  }

  async #principal(request: Request): Promise<string | undefined> {
    try {
      return await this.#host.principal?.(request);
    } catch (cause) {
      throw new ListenError('authorizer-failed', 'principal threw', { cause });
    }
  }

  /** What fails on our side is reported, and tells the caller nothing but to come back. */
  async #guarded<T>(legacy: LegacyRequest, request: Request, action: () => Promise<T>): Promise<T | Response> {
    try {
      return await action();
    } catch (error) {
      // A client that has left is nobody's error, and hears no answer.
      if (!request.signal.aborted) this.#host.onerror(error as Error);
      const isAuthorizer = error instanceof ListenError && error.code.startsWith('authorizer');
      return answer(legacy.refuse(isAuthorizer ? Refusal.AuthorizerFailed : Refusal.Unavailable));
    }
  }

  #pass(exchange: Exchange): Response | Promise<Response> {
    return pass(this.#host.handler, exchange);
  }
}

function done(legacy: LegacyRequest): Response {
  return json(legacy.done ?? '');
}
