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
  type Exchange,
  type LegacyInitialized,
  type LegacyRequest,
  listsOf,
  Refusal,
  type SessionQuestion,
  type SessionReply,
  type Stream,
  sessionStream,
} from '../wasm.js';
import { type Inbound, type Judged, refuse, renamed, send } from './inbound.js';
import type { NewSession, SessionLimits, SessionStore } from './session-store.js';

/** What serving sessions takes from the server around it. */
export interface SessionHost {
  readonly handler: FetchHandler;
  /** How much sessions may take, and how much is read of answers. */
  readonly limits: SessionLimits & AnswerLimits & { sessionIdleMs: number };
  readonly onerror: (error: Error) => void;
  readonly refusals: Refusals;
  /** Whether changes are told of all that the handler offers. */
  readonly isOffering: boolean;
  /** What the server notifies about, as JSON text; undefined where the handler does not tell. */
  capabilities(request: Request, rest: unknown[]): Promise<string | undefined>;
  /** What the caller may hear of what is requested; undefined: everything. */
  readonly authorize: ((context: AuthorizeContext) => Promise<Authorization>) | undefined;
  /** Opens a stream that `make` makes for a keep-alive interval, unless there is no room. */
  open(asker: Asker, make: (keepAliveMs: number) => Stream, session: string): Promise<FannedStream | Refusal>;
}

/** Serves the sessions of clients of 2025-11-25 and earlier. */
export class SessionFront {
  readonly #host: SessionHost;
  readonly #sessions: SessionStore;

  constructor(host: SessionHost, sessions: SessionStore) {
    this.#host = host;
    this.#sessions = sessions;
  }

  /** Why the session id alone refuses a request; undefined: a session may have it, or there is none. */
  async refusalOfId({ headers, signal }: Request): Promise<Refusal | undefined> {
    const id = headers.get('mcp-session-id');
    try {
      const isRefused = id !== null && (await this.#sessions.mayBe?.(id)) === false;
      return isRefused ? Refusal.SessionNotFound : undefined;
    } catch (error) {
      if (!signal.aborted) this.#host.onerror(error as Error);
      return Refusal.Unavailable;
    }
  }

  /** Answers a request of a caller who is named. */
  async serve(
    inbound: Judged,
    legacy: LegacyRequest,
    { audiences, claims, expiresAt, name }: Caller,
  ): Promise<Response> {
    const { core, request } = inbound;
    const { call, session } = legacy;
    const asker = { request, principal: name, expiresAt, audiences, claims };
    if (session === undefined) {
      if (call === 'initialize') return this.#initialize(inbound, asker);
      return this.#host.refusals.answer(core.refuse(Refusal.SessionMissing));
    }
    return this.#guarded(core, asker, () => this.#inSession({ core, legacy, session, asker, inbound }));
  }

  async #inSession(visit: Visit): Promise<Response> {
    const { core, inbound, legacy } = visit;
    const { refusals } = this.#host;
    const reply = await this.#reply(visit);
    if (reply instanceof Response) return reply;
    if (reply === 'unknown') return refuse(await refusals.answer(core.refuse(Refusal.SessionNotFound)), inbound);
    if (reply === 'notOffered') return refusals.inBand(core.refuse(Refusal.MethodNotFound));
    if (reply === 'taken') return refusals.answer(core.refuse(Refusal.StreamTaken));
    if (typeof reply === 'object' && 'full' in reply) return refusals.inBand(this.#full(core, reply.full));
    switch (legacy.call) {
      case 'initialize':
        return refusals.answer(core.refuse(Refusal.SecondInitialize));
      case 'initialized':
        return new Response(null, { status: 202 });
      case 'end':
        return new Response(null, { status: 200 });
      default:
        return done(core);
    }
  }

  /** What the session replies, or what answers the request. */
  #reply(visit: Visit): Promise<SessionReply | Response> {
    switch (visit.legacy.call) {
      case 'other':
        return this.#pass(visit);
      case 'initialized':
        return this.#telling(visit, (isTold) => ({ initialized: { isTold } }));
      case 'end':
        return this.#telling(visit, (isTold) => ({ end: { isTold } }));
      case 'open':
        return this.#stream(visit);
      case 'subscribe':
      case 'unsubscribe':
      case 'invalid':
        return this.#watching(visit);
      default:
        return this.#ask(visit, 'use');
    }
  }

  async #ask({ asker: { principal }, session }: Visit, ask: SessionQuestion['ask']): Promise<SessionReply> {
    const question: SessionQuestion = { session, principal, ask };
    return JSON.parse(await this.#sessions.ask(JSON.stringify(question))) as SessionReply;
  }

  async #pass(visit: Visit): Promise<SessionReply | Response> {
    const reply = await this.#ask(visit, 'behind');
    return typeof reply === 'object' && 'behind' in reply ? this.#passInSession(visit, reply.behind) : reply;
  }

  /** A handler that keeps the session too hears that its client is ready, and that it is over. */
  async #telling(visit: Visit, ask: (isTold: boolean) => SessionQuestion['ask']): Promise<SessionReply | Response> {
    const reply = await this.#ask(visit, ask(false));
    if (typeof reply !== 'object' || !('tell' in reply)) return reply;
    const response = await this.#passInSession(visit, reply.tell);
    const { ok, status } = response;
    // One that has no such session any more, or lets no client end one, keeps none of ours alive.
    const isOver = visit.legacy.call === 'end' && [404, 405].includes(status);
    if (!ok && !isOver) return response;
    await response.body?.cancel();
    // Where the handler had no such session, ours is over already.
    return status === 404 ? 'done' : this.#ask(visit, ask(true));
  }

  /** A handler that keeps no sessions gets no session id: ours is between us and the client. */
  async #passInSession(visit: Visit, behind: string | null): Promise<Response> {
    const response = renamed(await send(this.#host.handler, visit.inbound, behind ?? undefined), visit.session);
    // To its client that means that the session is over, so it is.
    if (response.status === 404 && behind !== null) await this.#ask(visit, { end: { isTold: true } });
    return response;
  }

  async #initialize(inbound: Judged, asker: Asker): Promise<Response> {
    const { core, request, rest } = inbound;
    const passed = await send(this.#host.handler, inbound, undefined);
    if (!passed.ok) return renamed(passed, undefined);
    const read = this.#host.isOffering ? raised : buffered;
    const response = await read(request, passed, this.#host);
    if (!response.ok) return renamed(response, undefined);
    const bytes = new Uint8Array(await response.arrayBuffer());
    const known = await this.#host.capabilities(request, rest);
    const initialized = core.initialized(bytes, known);
    const { headers } = response;
    if (initialized === undefined) return renamed(new Response(bytes, { status: response.status, headers }), undefined);
    return this.#guarded(core, asker, () => this.#begin(core, initialized, headers, asker));
  }

  async #begin(
    core: Exchange,
    { answer, capabilities }: LegacyInitialized,
    headers: Headers,
    { principal, request }: Asker,
  ): Promise<Response> {
    const { limits } = this.#host;
    const session: NewSession = { capabilities, idleMs: whole(limits.sessionIdleMs) };
    const behind = headers.get('mcp-session-id');
    if (behind !== null) session.behind = behind;
    const address = addressOf(request);
    if (principal !== undefined) session.principal = principal;
    else if (address !== undefined) session.address = address;
    const id = await this.#sessions.begin(session, boundsOf(limits));
    if (id === undefined) return this.#host.refusals.answer(core.refuse(Refusal.TooManySessions));
    headers.set('content-type', 'application/json');
    headers.set('mcp-session-id', id);
    return new Response(answer, { headers });
  }

  async #watching(visit: Visit): Promise<SessionReply | Response> {
    const { asker, core, legacy } = visit;
    const { authorize, limits, refusals } = this.#host;
    const { call, uri } = legacy;
    if (uri === undefined || (call === 'subscribe' && authorize !== undefined)) {
      const reply = await this.#ask(visit, 'mayWatch');
      if (reply !== 'done') return reply;
    }
    if (uri === undefined) return refusals.inBand(core.refuseParams());
    if (call === 'unsubscribe') return this.#ask(visit, { unwatch: uri });
    const permit = await this.#permit(core, { ...asker, requested: { resourceSubscriptions: [uri] } });
    if (permit instanceof Response) return permit;
    // What the caller may not read is answered as what does not exist: it never changes.
    const isDenied = permit !== undefined && permit.resourceSubscriptions?.includes(uri) !== true;
    return this.#ask(visit, isDenied ? { unwatch: uri } : { watch: { uri, limits: boundsOf(limits) } });
  }

  #full(core: Exchange, full: { uris: number } | { bytes: number }): ReturnType<Exchange['refuseUri']> {
    return 'uris' in full ? core.refuseUri(full.uris, false) : core.refuseUri(full.bytes, true);
  }

  /** A stream that comes back takes the place of the one it was, whose end may not have been noticed yet. */
  async #stream(visit: Visit): Promise<SessionReply | Response> {
    const { asker, core, legacy, session } = visit;
    const { lastEventId } = legacy;
    const reply = await this.#ask(visit, { open: { resumes: lastEventId !== undefined } });
    if (typeof reply !== 'object' || !('open' in reply)) return reply;
    const { capabilities, since: beginning, watched } = reply.open;
    const requested = JSON.parse(listsOf(capabilities)) as SubscriptionFilter;
    if (watched.length > 0) requested.resourceSubscriptions = watched;
    const permit = await this.#permit(core, { ...asker, requested });
    if (permit instanceof Response) return permit;
    // Nobody knows what a client without an event id has heard: since the session began, perhaps nothing.
    const since = lastEventId ?? beginning;
    const authorized = permit && JSON.stringify(permit);
    const make = (keepAliveMs: number): Stream =>
      calling(() => sessionStream(capabilities, watched, authorized, since, keepAliveMs, performance.now()));
    const { audiences = asker.audiences } = permit ?? {};
    const opened = await this.#host.open({ ...asker, audiences }, make, session);
    return typeof opened === 'number' ? this.#host.refusals.answer(core.refuse(opened)) : opened.response();
  }

  /** What the caller may hear of what it requests; undefined: all of it. */
  async #permit(core: Exchange, context: AuthorizeContext): Promise<Right | undefined | Response> {
    const authorization = await this.#host.authorize?.(context);
    if (authorization === undefined || !('denied' in authorization)) return authorization;
    const { refusal, ...fields } = denial(authorization);
    return this.#host.refusals.denied(core.refuse(refusal), fields);
  }

  /** What fails on our side is reported, and tells the caller nothing but to come back. */
  async #guarded<T>(core: Exchange, { request }: Asker, action: () => Promise<T>): Promise<T | Response> {
    try {
      return await action();
    } catch (error) {
      // A client that has left is nobody's error, and hears no answer.
      if (!request.signal.aborted) this.#host.onerror(error as Error);
      const isAuthorizer = error instanceof ListenError && error.code.startsWith('authorizer');
      return this.#host.refusals.answer(core.refuse(isAuthorizer ? Refusal.AuthorizerFailed : Refusal.Unavailable));
    }
  }

  /** What has to do with no session of ours has to do with none of the handler behind either. */
  async pass(inbound: Inbound): Promise<Response> {
    return renamed(await send(this.#host.handler, inbound, undefined), undefined);
  }
}

/** A request in a session that was found. */
interface Visit {
  core: Exchange;
  legacy: LegacyRequest;
  session: string;
  asker: Asker;
  inbound: Inbound;
}

function done(core: Exchange): Response {
  return json(core.done ?? '');
}

/** The limits that concern sessions, as whole numbers. */
function boundsOf(limits: SessionLimits): SessionLimits {
  return {
    sessions: whole(limits.sessions),
    unnamedSessions: whole(limits.unnamedSessions),
    sessionsPerPrincipal: whole(limits.sessionsPerPrincipal),
    uris: whole(limits.uris),
    sessionUriBytes: whole(limits.sessionUriBytes),
    busUriBytes: whole(limits.busUriBytes),
    unnamedUriBytes: whole(limits.unnamedUriBytes),
  };
}

function whole(limit: number): number {
  return Math.min(Math.max(Math.floor(limit), 0), MOST);
}

/** What is larger is no bound. */
const MOST = 2 ** 32 - 1;
