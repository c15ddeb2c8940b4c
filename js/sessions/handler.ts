import {
  type AllowedFilter,
  type AuthorizeContext,
  type CallerContext,
  type Denial,
  denial,
} from '../auth/authorize.js';
import { type Caller, contextOf } from '../auth/principal.js';
import type { ServerStream } from '../bus/server-stream.js';
import type { NewSession, SessionLimits, SessionStore } from '../bus/session-store.js';
import { buffered, withAllCapabilities } from '../handler/advertise-all.js';
import type { FetchHandler } from '../handler/handler.js';
import type { ResponseLimits } from '../handler/upstream-response.js';
import type { ErrorResponses } from '../http/error-response.js';
import {
  forward,
  type Inbound,
  type InboundExchange,
  refuse,
  withClientSession,
} from '../http/inbound.js';
import { calling, ListenError } from '../model/error.js';
import type { SubscriptionFilter } from '../model/filter.js';
import {
  type Exchange,
  type LegacyInitialized,
  Refusal,
  type Step,
} from '../wasm/server/bindings.js';
import { addressOf } from '../web/client-address.js';

/** The parts of the server that serve sessions. */
export interface SessionHost {
  readonly handler: FetchHandler;
  /** Limits on reading responses of the handler. */
  readonly limits: ResponseLimits;
  /** Milliseconds after which a session without requests and streams ends. */
  readonly idleMs: number;
  /** Limits on sessions. */
  readonly bounds: SessionLimits;
  readonly onError: (error: Error) => void;
  readonly refusals: ErrorResponses;
  /** Whether changes of everything that the handler offers are announced. */
  readonly advertisesAll: boolean;
  /** Serves MCP Events in sessions; undefined: the handler receives requests about them. */
  readonly events: SessionEvents | undefined;
  /**
   * Returns the capabilities that the server notifies about, as JSON text; undefined if the handler
   * does not announce them.
   */
  capabilities(request: Request, rest: unknown[]): Promise<string | undefined>;
  /** Returns which requested notifications the caller may receive; undefined: everything. */
  readonly authorize: ((context: AuthorizeContext) => Promise<AllowedFilter | Denial>) | undefined;
  /** Opens the stream of the session of a request, or returns why it is refused. */
  open(core: Exchange, context: CallerContext): Promise<ServerStream | Refusal>;
}

/** What serves MCP Events in sessions. */
export interface SessionEvents {
  /** Returns the response to `initialize` with events announced; undefined: it has no result. */
  announced(body: Uint8Array): string | undefined;
  /** Returns the response to a request; undefined: it is not about events. */
  respond(inbound: InboundExchange): Promise<Response | undefined>;
}

/** Serves the sessions of clients of 2025-11-25 and earlier. */
export class SessionHandler {
  readonly #host: SessionHost;
  readonly #sessions: SessionStore;

  constructor(host: SessionHost, sessions: SessionStore) {
    this.#host = host;
    this.#sessions = sessions;
  }

  /**
   * Returns why a request is refused by its session id alone; undefined if the session may exist or
   * there is no id.
   */
  async refusalOfId({ headers, signal }: Request): Promise<Refusal | undefined> {
    const id = headers.get('mcp-session-id');
    try {
      const isRefused = id !== null && (await this.#sessions.mayExist?.(id)) === false;
      return isRefused ? Refusal.SessionNotFound : undefined;
    } catch (error) {
      if (!signal.aborted) this.#host.onError(error as Error);
      return Refusal.Unavailable;
    }
  }

  /** Performs the steps that the core asks for until there is a response for the named caller. */
  async serve(inbound: InboundExchange, caller: Caller): Promise<Response> {
    const { core } = inbound;
    const context = contextOf(inbound, caller);
    let response: Response | undefined;
    for (;;) {
      const step = core.poll();
      switch (step.kind) {
        case 'initialize':
          return this.#initialize(inbound, context);
        case 'send':
          response = await this.#send(inbound, step.upstreamId);
          core.handleStatus(response.status);
          break;
        case 'forward':
          return response ?? this.#host.refusals.respond(core.refuse(Refusal.Unavailable));
        case 'respond':
          await response?.body?.cancel();
          return refuse(this.#host.refusals.respond(step.response), inbound);
        default: {
          const early = await this.#reportingErrors(core, context, () =>
            this.#perform(step, core, context),
          );
          if (early !== undefined) return early;
        }
      }
    }
  }

  /** Performs one step, which may end with a response. */
  async #perform(
    step: Step,
    core: Exchange,
    context: CallerContext,
  ): Promise<Response | undefined> {
    switch (step.kind) {
      case 'ask': {
        const reply = await this.#sessions.ask(step.question);
        calling(() => core.handleReply(reply));
        return undefined;
      }
      case 'authorize':
        return this.#authorize(core, context, JSON.parse(step.requested) as SubscriptionFilter);
      default:
        return this.#open(core, context);
    }
  }

  /**
   * Sends the request to the handler. A handler that keeps no sessions receives no session id: ours
   * is between us and the client.
   */
  async #send(inbound: InboundExchange, upstreamId: string | undefined): Promise<Response> {
    const session = inbound.request.headers.get('mcp-session-id') ?? undefined;
    const ofEvents = await this.#host.events?.respond(inbound);
    const response = ofEvents ?? (await forward(this.#host.handler, inbound, upstreamId));
    return withClientSession(response, session);
  }

  async #authorize(
    core: Exchange,
    context: CallerContext,
    requested: SubscriptionFilter,
  ): Promise<Response | undefined> {
    const authorization = await this.#host.authorize?.({ ...context, requested });
    if (authorization !== undefined && 'denied' in authorization) {
      const { refusal, ...fields } = denial(authorization);
      return this.#host.refusals.denied(core.refuse(refusal), fields);
    }
    // The stream that is opened next receives events for these groups.
    context.groups = authorization?.groups ?? context.groups;
    calling(() => core.handlePermit(authorization && JSON.stringify(authorization)));
    return undefined;
  }

  async #open(core: Exchange, context: CallerContext): Promise<Response> {
    const opened = await this.#host.open(core, context);
    return typeof opened === 'number'
      ? this.#host.refusals.respond(core.refuse(opened))
      : opened.response();
  }

  async #initialize(inbound: InboundExchange, context: CallerContext): Promise<Response> {
    const { core, request, rest } = inbound;
    const passed = await forward(this.#host.handler, inbound, undefined);
    if (!passed.ok) return withClientSession(passed, undefined);
    const read = this.#host.advertisesAll ? withAllCapabilities : buffered;
    const response = await read(request, passed, this.#host);
    if (!response.ok) return withClientSession(response, undefined);
    const bytes = this.#announced(new Uint8Array(await response.arrayBuffer()));
    const known = await this.#host.capabilities(request, rest);
    const initialized = core.initialized(bytes, known);
    const { headers } = response;
    if (initialized === undefined)
      return withClientSession(
        new Response(bytes, { status: response.status, headers }),
        undefined,
      );
    return this.#reportingErrors(core, context, () =>
      this.#begin(core, initialized, headers, context),
    );
  }

  #announced(body: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const text = this.#host.events?.announced(body);
    return text === undefined ? body : new TextEncoder().encode(text);
  }

  async #begin(
    core: Exchange,
    { capabilities, response }: LegacyInitialized,
    headers: Headers,
    { principal, request }: CallerContext,
  ): Promise<Response> {
    const { bounds, idleMs } = this.#host;
    const session: NewSession = { capabilities, idleMs };
    const upstreamId = headers.get('mcp-session-id');
    if (upstreamId !== null) session.upstreamId = upstreamId;
    const address = addressOf(request);
    if (principal !== undefined) session.principal = principal;
    else if (address !== undefined) session.address = address;
    const id = await this.#sessions.begin(session, bounds);
    if (id === undefined) return this.#host.refusals.respond(core.refuse(Refusal.TooManySessions));
    headers.set('content-type', 'application/json');
    headers.set('mcp-session-id', id);
    return new Response(response, { headers });
  }

  /** Reports an error on our side. The caller only learns that it may repeat the request. */
  async #reportingErrors<T>(
    core: Exchange,
    { request }: CallerContext,
    action: () => Promise<T>,
  ): Promise<T | Response> {
    try {
      return await action();
    } catch (error) {
      // A client that has disconnected is not an error, and receives no response.
      if (!request.signal.aborted) this.#host.onError(error as Error);
      const isAuthorizer = error instanceof ListenError && error.code.startsWith('authorizer');
      return this.#host.refusals.respond(
        core.refuse(isAuthorizer ? Refusal.AuthorizerFailed : Refusal.Unavailable),
      );
    }
  }

  /** Passes on a request without a session of ours, which has no session of the handler either. */
  async pass(inbound: Inbound): Promise<Response> {
    return withClientSession(await forward(this.#host.handler, inbound, undefined), undefined);
  }
}
