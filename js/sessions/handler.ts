import type { CallerContext } from '../auth/authorize.js';
import type { NewSession, SessionLimits, SessionStore } from '../bus/session-store.js';
import { buffered, withAllCapabilities } from '../handler/advertise-all.js';
import type { FetchHandler } from '../handler/handler.js';
import type { ResponseLimits } from '../handler/upstream-response.js';
import type { ErrorResponses } from '../http/error-response.js';
import { forward, type Inbound, type InboundExchange, withClientSession } from '../http/inbound.js';
import { type LegacyInitialized, Refusal } from '../wasm/server/bindings.js';
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
  /** Keeps the host running until this has settled. */
  readonly waitUntil: (work: Promise<void>) => void;
  /** Whether changes of everything that the handler offers are announced. */
  readonly advertisesAll: boolean;
  /** Serves MCP Events in sessions; undefined: the handler receives requests about them. */
  readonly events: SessionEvents | undefined;
  /**
   * Returns the notifications that the server offers, as in `Discovered`; undefined if the handler
   * does not announce them.
   */
  offers(request: Request, rest: unknown[]): Promise<number | undefined>;
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

  /** Passes a question to its session, and returns the reply. */
  ask(question: string): Promise<string> {
    return this.#sessions.ask(question);
  }

  /**
   * Sends the request to the handler. A handler that keeps no sessions receives no session id: ours
   * is between us and the client.
   */
  async send(inbound: InboundExchange, upstreamId: string | undefined): Promise<Response> {
    const session = inbound.request.headers.get('mcp-session-id') ?? undefined;
    const ofEvents = await this.#host.events?.respond(inbound);
    const response = ofEvents ?? (await forward(this.#host.handler, inbound, upstreamId));
    return withClientSession(response, session);
  }

  /** Passes a request to the handler, and begins a session from its response. */
  async initialize(inbound: InboundExchange, context: CallerContext): Promise<Response> {
    const { core, request, rest } = inbound;
    const passed = await forward(this.#host.handler, inbound, undefined);
    if (!passed.ok) return withClientSession(passed, undefined);
    const read = this.#host.advertisesAll ? withAllCapabilities : buffered;
    const response = await read(request, passed, this.#host);
    if (!response.ok) return withClientSession(response, undefined);
    const bytes = this.#announced(new Uint8Array(await response.arrayBuffer()));
    const initialized = core.initialized(bytes, await this.#host.offers(request, rest));
    const { headers } = response;
    if (initialized === undefined)
      return withClientSession(
        new Response(bytes, { status: response.status, headers }),
        undefined,
      );
    const { onError, refusals } = this.#host;
    return refusals.reporting(inbound, onError, () =>
      this.#begin(inbound, initialized, headers, context),
    );
  }

  #announced(body: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const text = this.#host.events?.announced(body);
    return text === undefined ? body : new TextEncoder().encode(text);
  }

  async #begin(
    inbound: InboundExchange,
    { capabilities, response }: LegacyInitialized,
    headers: Headers,
    { principal, request }: CallerContext,
  ): Promise<Response> {
    const { core } = inbound;
    const { bounds, idleMs } = this.#host;
    const session: NewSession = { capabilities, idleMs };
    const upstreamId = headers.get('mcp-session-id');
    if (upstreamId !== null) session.upstreamId = upstreamId;
    const address = addressOf(request);
    if (principal !== undefined) session.principal = principal;
    else if (address !== undefined) session.address = address;
    let id: string | undefined;
    try {
      id = await this.#sessions.begin(session, bounds);
    } finally {
      if (id === undefined && upstreamId !== null) this.#discard(inbound, upstreamId);
    }
    if (id === undefined) return this.#host.refusals.respond(core.refuse(Refusal.TooManySessions));
    headers.set('content-type', 'application/json');
    headers.set('mcp-session-id', id);
    return new Response(response, { headers });
  }

  /** Ends a session of the handler that the client does not learn of, without waiting for it. */
  #discard({ request, rest }: Inbound, upstreamId: string): void {
    const headers = new Headers(request.headers);
    for (const name of ['content-length', 'content-type']) headers.delete(name);
    const ending = new Request(request.url, { method: 'DELETE', headers });
    const ended = forward(this.#host.handler, { request: ending, rest }, upstreamId);
    // If this fails, the handler ends the session itself once it is idle.
    this.#host.waitUntil(ended.then(({ body }) => body?.cancel()).catch(() => {}));
  }

  /** Passes on a request without a session of ours, which has no session of the handler either. */
  async pass(inbound: Inbound): Promise<Response> {
    return withClientSession(await forward(this.#host.handler, inbound, undefined), undefined);
  }
}
