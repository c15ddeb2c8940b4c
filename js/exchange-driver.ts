import {
  type AuthorizeContext,
  type AuthorizeOptions,
  type CallerContext,
  type Permit,
  runAuthorize,
} from './auth/authorize.js';
import { callerOf, contextOf, type PrincipalOptions } from './auth/principal.js';
import { type Interest, withoutRefused } from './bus/wanted/interest.js';
import type { EventServer } from './events/serve/host.js';
import { withoutCapabilities } from './handler/advertise-all.js';
import type { FetchHandler } from './handler/handler.js';
import type { ResponseLimits } from './handler/upstream-response.js';
import type { ErrorResponses } from './http/error-response.js';
import { type InboundExchange, pass, refuse } from './http/inbound.js';
import { calling, ListenError } from './model/error.js';
import type { SubscriptionFilter } from './model/filter.js';
import type { SessionHandler } from './sessions/handler.js';
import type { StreamManager } from './streams/index.js';
import { type Exchange, type HttpResponse, Refusal, type Step } from './wasm/server/bindings.js';
import { cancelBody, readStart } from './web/request-body.js';

/** The parts of a server that carry out the steps of its exchanges. */
export interface ExchangeHost {
  handler: FetchHandler;
  principalOptions: PrincipalOptions;
  authorizeOptions: AuthorizeOptions<AuthorizeContext>;
  /** Milliseconds within which a body has to arrive; 0 disables this. */
  bodyMs: number;
  /** Limits on reading responses of the handler. */
  reading: ResponseLimits;
  onError: (error: Error) => void;
  refusals: ErrorResponses;
  /** The hooks of the bus; undefined: it has none. */
  interest: Interest | undefined;
  streams: StreamManager;
  /** Serves MCP Events; undefined: the server defines none. */
  events: EventServer | undefined;
  /** Keeps the sessions of earlier revisions; undefined: they are not kept here. */
  sessions: SessionHandler | undefined;
}

/** Carries out the steps that the exchanges of a server ask for. */
export class ExchangeDriver {
  readonly #host: ExchangeHost;

  constructor(host: ExchangeHost) {
    this.#host = host;
  }

  /** Carries out the steps of a request until there is a response. */
  async respond(inbound: InboundExchange): Promise<Response> {
    const { bodyMs, onError, principalOptions, refusals } = this.#host;
    const { core, request, rest } = inbound;
    let context = contextOf(inbound, {});
    let isInSession = false;
    /** The response of the handler to a request in a session. */
    let sent: Response | undefined;
    for (;;) {
      const step = core.poll();
      switch (step.kind) {
        case 'body':
          inbound.body = await readStart(request, step.maxBytes, bodyMs);
          core.handleBody(inbound.body.bytes);
          break;
        case 'caller': {
          const caller = await callerOf(principalOptions, request, rest);
          if (caller.refusal !== undefined)
            return refuse(refusals.denied(core.refuse(caller.refusal), caller), inbound);
          core.handleCaller(caller.name);
          context = contextOf(inbound, caller);
          break;
        }
        case 'session': {
          const refusal = await this.#sessions.refusalOfId(request);
          if (refusal !== undefined) return this.#respond(inbound, core.refuse(refusal));
          core.confirm();
          break;
        }
        case 'initialize':
          return this.#sessions.initialize(inbound, context);
        case 'send':
          sent = await this.#sessions.send(inbound, step.upstreamId);
          core.handleStatus(sent.status);
          break;
        case 'forward':
          return sent ?? refusals.respond(core.refuse(Refusal.Unavailable));
        case 'pass':
          return this.#pass(inbound, step.withholds);
        case 'respond':
          return this.#respond(inbound, step.response, sent);
        default: {
          isInSession ||= step.kind === 'ask';
          const perform = this.#perform.bind(this, step, core, context, isInSession);
          const response = await refusals.reporting(inbound, onError, perform);
          if (response !== undefined) return response;
        }
      }
    }
  }

  /** Carries out a step whose errors are ours. It may end with a response. */
  async #perform(
    step: Step,
    core: Exchange,
    context: CallerContext,
    isInSession: boolean,
  ): Promise<Response | undefined> {
    switch (step.kind) {
      case 'ask': {
        const reply = await this.#sessions.ask(step.question);
        calling(() => core.handleReply(reply));
        return undefined;
      }
      case 'authorize': {
        const requested = JSON.parse(step.requested) as SubscriptionFilter;
        return this.#authorize(core, context, requested, isInSession);
      }
      default: {
        const { refusals, streams } = this.#host;
        const opened = isInSession
          ? await streams.openSession(core, context)
          : await streams.open(core, context);
        return typeof opened === 'number'
          ? refusals.respond(core.refuse(opened))
          : opened.response();
      }
    }
  }

  async #authorize(
    core: Exchange,
    context: CallerContext,
    requested: SubscriptionFilter,
    isInSession: boolean,
  ): Promise<Response | undefined> {
    const permit = await this.#permit({ ...context, requested }, isInSession);
    if (permit.refusal !== undefined)
      return this.#host.refusals.denied(core.refuse(permit.refusal), permit);
    // The stream that is opened next receives events for these groups.
    context.groups = permit.groups;
    calling(() => core.handlePermit(permit.filter));
    return undefined;
  }

  /** Returns what the caller may receive. */
  async #permit(context: AuthorizeContext, isInSession: boolean): Promise<Permit> {
    const { authorizeOptions, interest } = this.#host;
    if (!isInSession) return runAuthorize(authorizeOptions, context);
    const { request } = context;
    const onError = (error: Error): void => {
      if (!request.signal.aborted) authorizeOptions.onError(error);
    };
    const permit = await runAuthorize({ ...authorizeOptions, onError }, context);
    if (permit.refusal !== undefined) return permit;
    const filter = await withoutRefused(interest, context, permit.filter);
    return { groups: permit.groups, ...(filter !== undefined && { filter }) };
  }

  /** Responds with a response of the core. That of the handler, if there is one, is not needed. */
  async #respond(
    inbound: InboundExchange,
    response: HttpResponse,
    sent?: Response,
  ): Promise<Response> {
    if (response.isUnread) await cancelBody(inbound.request);
    await sent?.body?.cancel();
    return refuse(this.#host.refusals.respond(response), inbound);
  }

  /** Passes on a request that is not ours. */
  async #pass(inbound: InboundExchange, withholds: boolean): Promise<Response> {
    const { events, handler, onError, reading, sessions } = this.#host;
    const ofEvents = await events?.respond(inbound);
    if (ofEvents !== undefined) return ofEvents;
    if (sessions !== undefined) return sessions.pass(inbound);
    const response = await pass(handler, inbound);
    if (!withholds || !response.ok) return response;
    return withoutCapabilities(inbound.request, response, { limits: reading, onError });
  }

  get #sessions(): SessionHandler {
    const { sessions } = this.#host;
    if (sessions !== undefined) return sessions;
    throw new ListenError('internal-error', 'no sessions are kept here');
  }
}
