import type { Authorize, AuthorizeContext } from './auth/authorize.js';
import type { Principal } from './auth/principal.js';
import type { ListenBus, ServerEventBus } from './bus/bus.js';
import type { Notifier } from './bus/notifier.js';
import type { DeclaredServer } from './handler/discovery.js';
import type { FrontOptions } from './http/origin-guard.js';
import type { ListenLimits } from './model/limits.js';
import type { ListenStats } from './model/stats.js';
import type { ListenTimeouts } from './model/timeouts.js';
import type { StreamLogger } from './observe/log.js';
import type { SpanTracer } from './observe/tracing.js';

/**
 * How `createListenHandler` serves. `Rest` is what the host passes to `fetch` after the request.
 */
export interface ListenHandlerOptions<Rest extends unknown[] = unknown[]> extends FrontOptions {
  /**
   * Carries events between publishers and streams.
   *
   * @default new InMemoryBus()
   */
  bus?: ListenBus | ServerEventBus;
  /**
   * Whether the handler holds streams. `off` is for hosts that cannot, such as serverless
   * functions: a listen gets 404 and JSON-RPC -32601, a GET gets 405, `resources/subscribe` of
   * earlier revisions gets -32601, and answers to `server/discover` and `initialize` announce
   * neither `listChanged` nor `subscribe`. `notify` still publishes on the bus. `server`,
   * `advertise`, `principal` and `authorize` have no effect, and `legacy: 'sessions'` is
   * `invalid-options`.
   *
   * @default 'on'
   */
  listen?: 'on' | 'off';
  /**
   * The name of the server, and what it notifies about. Without it the handler is asked with
   * `server/discover`, again when the `ttlMs` of its answer is over.
   *
   * @default undefined
   */
  server?: DeclaredServer;
  /**
   * What clients may subscribe to. `declared`: what `server` or the handler's answer to
   * `server/discover` says that it notifies about. `all`: every list and resource that the handler
   * has, whatever it says about changes; its answers to `server/discover` and `initialize` are
   * changed to say so too. `all` excludes `server`.
   *
   * @default 'declared'
   */
  advertise?: 'declared' | 'all';
  /**
   * Says what a caller may receive. Its context has `args`, what the host passed to `fetch` after
   * the request.
   *
   * @default everything
   * @example
   * ```ts
   * authorize: ({ principal, requested }) => ({
   *   toolsListChanged: true,
   *   resourceSubscriptions: requested.resourceSubscriptions?.filter((uri) => mayRead(principal, uri)) ?? [],
   * })
   * ```
   */
  authorize?: Authorize<AuthorizeContext<Rest>>;
  /**
   * Milliseconds for which the answers of `principal` and `authorize` hold while a stream is open.
   * When they are older, the next notification waits until both have answered again. The stream
   * ends without a result if the caller is denied, has another name, or may no longer receive all
   * that the stream acknowledged. 0 disables: the answers hold as long as the stream.
   *
   * @default 30_000
   */
  authorizationTtlMs?: number;
  /**
   * What clients of 2025-11-25 and earlier get. `sessions`: a session for each client, with
   * `resources/subscribe` and a notification stream; if `handler` keeps sessions too, each of ours
   * maps to one of its own. `stateless`: what `handler` answers. `reject`: an error, and 405 for
   * every GET and DELETE.
   *
   * @default 'sessions' if the bus shares its sessions between all isolates, as `durableObjectBus`
   *   does, and `listen` is on; otherwise 'stateless'. `legacy` of the handler says which one it
   *   is.
   */
  legacy?: LegacyMode;
  /**
   * Names the caller of a request, or denies it: before the body is read where the header fields
   * call it a listen, otherwise before the body is judged. After the request it gets what the host
   * passed to `fetch` after it. `authorize` is told the name, and a session is its principal's
   * alone. An open stream keeps these values for as long as it may ask again.
   *
   * @default no caller has a name, and a session belongs to every caller that knows its id
   * @example
   * ```ts
   * principal: (_request, options) => options?.authInfo ?? { denied: 401, wwwAuthenticate: 'Bearer' }
   * ```
   */
  principal?: Principal<Rest>;
  /**
   * Names of header fields that identify a caller, beside `Authorization` and `Cookie`, such as
   * `X-API-Key`. The handler is asked `server/discover` with these fields alone, and its private
   * answer for one caller is not used for another.
   *
   * @default []
   */
  credentialHeaders?: readonly string[];
  /** Upper bounds in counts and bytes. */
  limits?: ListenLimits;
  /** How long things may take, in milliseconds. 0 disables a timeout. */
  timeouts?: ListenTimeouts;
  /**
   * Milliseconds of silence before a stream gets a keep-alive comment, +-20 %. 0 disables.
   *
   * @default 15_000
   */
  keepAliveMs?: number;
  /**
   * Milliseconds after which a stream ends without a result, +-20 %. 0 disables.
   *
   * Many official clients do not listen again after a stream has ended: the TypeScript SDK's with `listChanged` (2.4.0) and that of the
   * Agents SDK receive nothing more. Set it only where your clients come back.
   *
   * @default 0
   */
  maxConnectionAgeMs?: number;
  /**
   * Milliseconds without an event, +-20 %, after which a stream asks its bus whether it missed any.
   * This wakes a bus that hibernates. 0 disables.
   *
   * @default 0
   */
  busProbeIntervalMs?: number;
  /**
   * Called with every error behind a 503, a dropped bus frame or a failed publish.
   *
   * @default console.error
   */
  onError?: (error: Error) => void;
  /**
   * Called when a stream opens, loses its bus, has it again or ends, and when a request is refused.
   *
   * @default undefined
   */
  onLog?: StreamLogger;
  /**
   * Starts a span for each stream and for each publish through `notify`, with a link to what caused
   * it.
   *
   * @default undefined
   */
  tracer?: SpanTracer;
}

/** What clients of 2025-11-25 and earlier get; see {@link ListenHandlerOptions.legacy}. */
export type LegacyMode = 'sessions' | 'stateless' | 'reject';

/** How a drain ends streams. */
export interface DrainOptions {
  /**
   * Milliseconds over which the ends are spread evenly. 0 ends all of them at once.
   *
   * @default 30_000
   */
  windowMs?: number;
  /**
   * Number of streams to end, oldest first. New streams are still accepted. 0 ends none. Without it
   * all streams end, and new ones are refused.
   *
   * @default undefined
   */
  count?: number;
}

/**
 * A handler that serves `subscriptions/listen`, and passes everything else to the one it wraps.
 * `Rest` is what the host passes to `fetch` after the request.
 */
export interface ListenHandler<Rest extends unknown[] = []> {
  /** Answers one HTTP request; may be detached from this object. */
  fetch: (request: Request, ...rest: Rest) => Promise<Response>;
  /** Publishes changes. */
  notify: Notifier;
  /**
   * Ends all streams gracefully, with their result. Refuses new streams from now on. Resolves when
   * the last one has ended.
   */
  close: () => Promise<void>;
  /**
   * Ends streams without a result, one after the other, so that their clients do not all come back
   * at once: all of them, and refuses new ones with 503 and `Retry-After`; or, with `count`, the
   * oldest so many, and goes on serving. Resolves when the last of them has ended.
   *
   * @throws ListenError (as a rejection) `invalid-options`.
   */
  drain: (options?: DrainOptions) => Promise<void>;
  /**
   * Ends all streams of the caller that `principal` named `principal`, in every isolate that uses
   * the bus, at once and without a result. Deny the caller first: its clients come back at once.
   * Resolves when the bus has stored the event.
   *
   * @throws ListenError (as a rejection) `invalid-principal`, and what the bus throws.
   */
  disconnect: (principal: string) => Promise<void>;
  /** What the streams of this server are doing, and what they went through. */
  stats: () => ListenStats;
  /** The bus in use. */
  bus: ListenBus;
  /**
   * What clients of 2025-11-25 and earlier get: the option `legacy`, or its default for this bus.
   */
  legacy: LegacyMode;
}
