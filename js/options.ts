import type { Authorize, AuthorizeContext } from './auth/authorize.js';
import type { Principal } from './auth/principal.js';
import type { AttachableBus } from './bus/attachable-bus.js';
import type { ListenBus, ServerEventBus } from './bus/bus.js';
import type { Notifier } from './bus/notifier.js';
import type { DefinedEvents } from './events/serve/host.js';
import type { DeclaredServer } from './handler/discovery.js';
import type { ScreenOptions } from './http/screen.js';
import { ListenError } from './model/error.js';
import type { ListenLimits } from './model/limits.js';
import type { ListenStats } from './model/stats/listen.js';
import type { ListenTimeouts } from './model/timeouts.js';
import type { StreamLogger } from './observe/log.js';
import type { SpanTracer } from './observe/tracing.js';

/**
 * Options of `createListenHandler`. `Rest` is the list of arguments that the host passes to `fetch`
 * after the request.
 */
export interface ListenHandlerOptions<Rest extends unknown[] = unknown[]> extends ScreenOptions {
  /**
   * Carries events between publishers and streams.
   *
   * @default new InMemoryBus()
   */
  bus?: ListenBus | ServerEventBus;
  /**
   * Whether the handler holds streams. `off` is for hosts that cannot hold them, such as serverless
   * functions. A listen then gets 404 with JSON-RPC -32601, a GET gets 405, and
   * `resources/subscribe` of earlier revisions gets -32601. Responses to `server/discover` and
   * `initialize` announce neither `listChanged` nor `subscribe`. `notify` still publishes on the
   * bus. `server`, `advertise` and `authorize` have no effect, `principal` names the callers of
   * requests about `events` only, and `legacy: 'sessions'` is `invalid-options`.
   *
   * @default 'on'
   */
  listen?: 'on' | 'off';
  /**
   * The name of the server and the capabilities that it notifies about. Without it, the server
   * sends `server/discover` to the handler, and again when the `ttlMs` of the result has passed.
   * In the official SDK `ttlMs` is 0 by default, so each stream that opens costs a call of the
   * handler: its option `cacheHints: { 'server/discover': { ttlMs: 60_000 } }` avoids that too.
   *
   * @default undefined
   */
  server?: DeclaredServer;
  /**
   * What clients may subscribe to. `declared`: the capabilities in `server`, or in the handler's
   * response to `server/discover`. `all`: every list and resource that the handler has, even if the
   * handler announces no changes; its responses to `server/discover` and `initialize` are rewritten
   * to announce them. `all` cannot be combined with `server`.
   *
   * @default 'declared'
   */
  advertise?: 'declared' | 'all';
  /**
   * Returns what a caller may receive. `args` of its context holds the arguments that the host
   * passed to `fetch` after the request. It does not decide about MCP Events: with `events`,
   * `defineEvents` needs an `authorize` too, otherwise this is `invalid-options`. MCP Events always
   * use the groups of `principal`.
   *
   * @default everything
   * @example
   * ```ts
   * authorize: ({ principal, requested }) => ({
   *   toolsListChanged: true,
   *   resourceSubscriptions:
   *     requested.resourceSubscriptions?.filter((uri) => mayRead(principal, uri)) ?? [],
   * })
   * ```
   */
  authorize?: Authorize<AuthorizeContext<Rest>>;
  /**
   * Milliseconds for which the results of `principal` and `authorize` are valid while a stream is
   * open. Once they have expired, the next notification waits until both have been called again.
   * The stream ends without a result if the caller is denied, has a different name, or may no
   * longer receive everything that the stream acknowledged. 0 disables: the results are valid until
   * the stream ends.
   *
   * @default 30_000
   */
  authorizationTtlMs?: number;
  /**
   * How clients of 2025-11-25 and earlier are served. `sessions`: each client gets a session with
   * `resources/subscribe` and a notification stream; if `handler` keeps sessions too, each of ours
   * maps to one of the handler's. `stateless`: `handler` serves them. `reject`: requests get an
   * error, and every GET and DELETE gets 405.
   *
   * @default 'sessions' if the bus shares its sessions between all isolates, as `durableObjectBus`
   *   does, and `listen` is on; otherwise 'stateless'. The property `legacy` of the returned
   *   handler has the value in use.
   */
  legacy?: LegacyMode;
  /**
   * Names the caller of a request, or denies it. It runs before the body is read if the header
   * fields say that the request is a listen, otherwise before the body is checked. Its further
   * arguments are those that the host passed to `fetch` after the request. `authorize` receives the
   * name, and only the principal that began a session may use it. An open stream keeps these
   * arguments for as long as it may call `principal` again.
   *
   * @default no caller has a name, and anyone who knows a session id can use that session
   * @example
   * ```ts
   * principal: (_request, options) =>
   *   options?.authInfo ?? { denied: 401, wwwAuthenticate: 'Bearer' }
   * ```
   */
  principal?: Principal<Rest>;
  /**
   * Returns the IP address of a request's client, with or without a port; undefined if it is not
   * known. Callers without a name are counted by it. Anything else, such as a list of addresses or
   * a promise, is reported to `onError`, and the address is then not known. Read a header field
   * only if a proxy in front of the server always sets it: clients can send any field themselves,
   * and choose what precedes the last address of `X-Forwarded-For`.
   *
   * @default the address that Cloudflare provides
   * @example
   * ```ts
   * clientAddress: (request: Request) => request.headers.get('x-real-ip') ?? undefined
   * ```
   */
  clientAddress?: (request: Request, ...rest: Rest) => string | undefined;
  /**
   * Names of header fields that identify a caller, in addition to `Authorization` and `Cookie`,
   * such as `X-API-Key`. The handler's `server/discover` request carries only these fields, and a
   * private result for one caller is not used for another.
   *
   * @default []
   */
  credentialHeaders?: readonly string[];
  /** Upper bounds in counts and bytes. */
  limits?: ListenLimits;
  /** Timeouts in milliseconds. 0 disables a timeout. */
  timeouts?: ListenTimeouts;
  /**
   * Milliseconds without output, +-20 %, after which a stream sends a keep-alive comment. 0
   * disables; with streams of `events` at least 1 and at most 25,000.
   *
   * @default 15_000
   */
  keepAliveMs?: number;
  /**
   * Milliseconds after which a stream ends without a result, +-20 %. 0 disables.
   *
   * Set it only if your clients reconnect: many official clients do not listen again after a stream
   * has ended.
   *
   * @default 0
   */
  maxConnectionAgeMs?: number;
  /**
   * Milliseconds without an event, +-20 %, after which a stream asks its bus whether it missed an
   * event. The request wakes a bus that hibernates. 0 disables.
   *
   * @default 0
   */
  busProbeIntervalMs?: number;
  /**
   * The event types of the server: `defineEvents` of `mcp-listen/events`. Requests about events are
   * then served here, and `notify.event` publishes. The bus needs a log of occurrences. With
   * `authorize`, `defineEvents` needs an `authorize` too.
   *
   * @default undefined
   */
  events?: DefinedEvents;
  /**
   * Called with the error behind every 503, and with failed publishes and dropped bus frames that
   * the `onError` of the bus does not receive.
   *
   * @default console.error
   */
  onError?: (error: Error) => void;
  /**
   * Called when a stream opens, loses its bus, is attached again or ends, and when a request is
   * refused.
   *
   * @default undefined
   */
  onLog?: StreamLogger;
  /**
   * Starts a span for each stream and for each publish through `notify`, linked to the span that
   * caused it.
   *
   * @default undefined
   */
  tracer?: SpanTracer;
}

/** How clients of 2025-11-25 and earlier are served; see {@link ListenHandlerOptions.legacy}. */
export type LegacyMode = 'sessions' | 'stateless' | 'reject';

/** Options of {@link ListenHandler.drain}. */
export interface DrainOptions {
  /**
   * Milliseconds over which the streams are ended, evenly spread. 0 ends all of them at
   * the same time.
   *
   * @default 30_000
   */
  windowMs?: number;
  /**
   * Number of streams to end, oldest first. New streams are still accepted. 0 ends none. If it is
   * not set, all streams end and new ones are refused.
   *
   * @default undefined
   */
  count?: number | undefined;
}

/**
 * A handler that serves `subscriptions/listen`, and passes all other requests to the handler that
 * it wraps. `Rest` is the list of arguments that the host passes to `fetch` after the request.
 */
export interface ListenHandler<Rest extends unknown[] = []> {
  /** Handles one HTTP request. It can be called without this object as `this`. */
  fetch: (request: Request, ...rest: Rest) => Promise<Response>;
  /** Publishes changes. */
  notify: Notifier;
  /**
   * Ends all streams gracefully, with their result, and refuses new ones. Resolves when the last
   * stream has ended.
   */
  close: () => Promise<void>;
  /**
   * Ends streams without a result, one after the other, so that their clients do not all reconnect
   * at once. Without `count` it ends all streams, and refuses new ones with 503 and `Retry-After`.
   * With `count` it ends that many of the oldest streams and keeps serving. Resolves when the last
   * of them has ended.
   *
   * @throws ListenError (as a rejection) `invalid-options`.
   */
  drain: (options?: DrainOptions) => Promise<void>;
  /**
   * Ends all streams of the caller that the option `principal` named `principal`, at once and
   * without a result, in every isolate that uses the bus. Deny the caller first, because its
   * clients reconnect at once. Resolves when the bus has stored the event.
   *
   * @throws ListenError (as a rejection) `invalid-principal`, and what the bus throws.
   */
  disconnect: (principal: string) => Promise<void>;
  /**
   * Returns how many streams the caller that the option `principal` named `principal` has open at
   * this server, in this process or isolate. `listeners` of the bus counts all of them.
   */
  listeners: (principal: string) => number;
  /** Returns the current state and the counters of the streams of this server. */
  stats: () => ListenStats;
  /** The bus in use. */
  bus: ListenBus;
  /**
   * How clients of 2025-11-25 and earlier are served: the option `legacy`, or its default for this
   * bus.
   */
  legacy: LegacyMode;
}

/**
 * Returns whether streams are held.
 *
 * @throws ListenError `invalid-options`.
 */
export function expectListen({ legacy, listen = 'on' }: ListenHandlerOptions): boolean {
  if (!['on', 'off'].includes(listen))
    throw new ListenError('invalid-options', 'listen must be on or off');
  if (listen === 'off' && legacy === 'sessions') {
    throw new ListenError(
      'invalid-options',
      'legacy must not be sessions if listen is off, because sessions have streams',
    );
  }
  return listen === 'on';
}

/**
 * Checks that something decides about events too where `authorize` decides about listens.
 *
 * @throws ListenError `invalid-options`.
 */
export function expectEventRights({ authorize, events }: ListenHandlerOptions): void {
  if (authorize === undefined || events === undefined || events.authorizes) return;
  throw new ListenError(
    'invalid-options',
    'authorize does not decide about events: give defineEvents an authorize too, ' +
      'such as () => true, which lets every caller receive every type',
  );
}

/**
 * Returns whether responses of the handler are rewritten to announce changes of everything it
 * offers.
 *
 * @throws ListenError `invalid-options`.
 */
export function advertisesAll({ advertise = 'declared', server }: ListenHandlerOptions): boolean {
  if (!['all', 'declared'].includes(advertise)) {
    throw new ListenError('invalid-options', 'advertise must be declared or all');
  }
  if (advertise === 'all' && server !== undefined) {
    throw new ListenError(
      'invalid-options',
      'advertise must not be all if server declares the capabilities',
    );
  }
  return advertise === 'all';
}

/**
 * Returns how clients of earlier revisions are served.
 *
 * @throws ListenError `invalid-options`.
 */
export function legacyOf({ legacy, listen }: ListenHandlerOptions, bus: AttachableBus): LegacyMode {
  // Without streams the bus is not read: some follow their broker once their sessions are read.
  if (legacy === undefined)
    return listen !== 'off' && bus.sessions?.isShared === true ? 'sessions' : 'stateless';
  if (['reject', 'sessions', 'stateless'].includes(legacy)) return legacy;
  throw new ListenError('invalid-options', 'legacy must be sessions, stateless or reject');
}
