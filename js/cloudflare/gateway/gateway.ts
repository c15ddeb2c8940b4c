import type { ListenBus } from '../../bus/bus.js';
import type { DefinedEvents } from '../../events/serve/host.js';
import { createProxy, type ProxyOptions, upstreamUrl } from '../../handler/proxy.js';
import { refusalResponse } from '../../handler/upstream-response.js';
import { forward, withClientSession } from '../../http/inbound.js';
import { type Screen, screen } from '../../http/screen.js';
import { type ForgettableHandler, forgettableHandler } from '../../listen-handler.js';
import { expectAmounts } from '../../model/amount.js';
import { ListenError } from '../../model/error.js';
import { limitsOf } from '../../model/limits.js';
import { timeoutsOf } from '../../model/timeouts.js';
import { report, safeOnError } from '../../observe/on-error.js';
import type { ListenHandler, ListenHandlerOptions } from '../../options.js';
import { Refusal } from '../../wasm/server/bindings.js';
import { Credentials } from '../../web/credentials.js';
import type { DurableObjectBusOptions } from '../edge/durable-object-bus.js';
import { createPublishHandler, type PublishHandlerOptions } from '../publish/endpoint.js';
import { TenantRouter } from '../route/router.js';
import { type BusName, DEFAULT_BUS } from '../wire/names.js';
import type { BusNamespace } from '../wire/stubs.js';
import { upstreamAuthorize } from './upstream/authorize.js';
import { UpstreamAdmission } from './upstream/principal.js';
import { UpstreamServer } from './upstream/server.js';

/**
 * Options of {@link createGateway}. `Rest` is what the host passes to `fetch` after the request.
 */
export interface GatewayOptions<Rest extends unknown[] = unknown[]>
  extends ProxyOptions,
    Pick<DurableObjectBusOptions, 'sockets' | 'wanted'> {
  /**
   * The bus of all requests, or a function that returns the bus, and so the tenant, of each
   * request. Tenants do not receive each other's events and cannot use each other's sessions. A
   * request for which the function returns undefined gets 404.
   *
   * @default 'mcp-listen'
   */
  bus?: BusName;
  /**
   * The secret of publishers at `/publish`, see {@link PublishHandlerOptions.secret}. Without a
   * secret and without `publish.publishers`, the path gets 404.
   *
   * @default undefined
   */
  secret?: PublishHandlerOptions['secret'];
  /** Publishers with restricted rights, and further options of `/publish`. */
  publish?: Omit<PublishHandlerOptions, 'bus' | 'events' | 'onError' | 'secret'>;
  /**
   * The event types of MCP Events. The gateway adds the capability to the responses of the upstream
   * server, serves `events/*` itself, and accepts occurrences at `/publish`. Without event types,
   * the upstream server receives these requests. The bus needs a log of occurrences. If `rights`
   * is `acknowledged`, or `listen` has an `authorize`, `defineEvents` needs an `authorize` too,
   * because neither says who may receive an event.
   *
   * @default undefined
   */
  events?: DefinedEvents;
  /**
   * Which of the requested notifications an admitted caller receives. `acknowledged`: those that
   * the upstream server acknowledges to a listen with the credentials of that caller, checked again
   * as every `authorize` is; none if the server has no `subscriptions/listen`. `admitted`:
   * everything that is published or watched. An `authorize` in `listen` replaces both.
   *
   * @default 'acknowledged'
   */
  rights?: 'acknowledged' | 'admitted';
  /**
   * Names of header fields that identify a caller, besides `Authorization` and `Cookie`, such as
   * `X-API-Key`. Requests that check a caller carry only these fields. Cookies are part of a
   * caller's name only if `Cookie` is listed here, and only those that the upstream server
   * requires.
   *
   * @default []
   */
  credentialHeaders?: readonly string[];
  /**
   * Also admits a caller if the upstream server responds to `server/discover` with a JSON-RPC error
   * "no such method or revision". A server that checks the method before the credentials would then
   * admit every caller.
   *
   * @default false
   */
  admitsUnknownMethod?: boolean;
  /**
   * Number of subrequests that Workers allows each request; on Workers Free it is 50. The requests
   * with which an open stream is checked again count for the request that holds the stream. Once
   * they are three quarters of this number, the stream ends (`exhausted`), after its pending
   * notifications. 0 ends it after the first check.
   *
   * @default 10_000
   */
  subrequests?: number;
  /**
   * Options for listens and sessions. Here `advertise` defaults to `all` if there is a secret for
   * publishers and no `server`, and `timeouts.authorizeMs` defaults to 10,000. The default
   * `principal` admits the callers that the upstream server serves, and names each by a digest of
   * those of its credentials that the server requires. The default `authorize` follows `rights`.
   * `onLog` is also called for the buses.
   */
  listen?: Omit<ListenHandlerOptions<Rest>, 'bus' | 'credentialHeaders' | 'events'>;
}

/** A gateway in front of an MCP server. */
export interface Gateway<Rest extends unknown[] = []> {
  /**
   * Serves `/mcp` and `/publish`, with any path before them if `bus` is a function, and
   * `/.well-known/`; every other path gets 404. Passes the arguments after the request to
   * `principal` and `authorize` of `listen`.
   */
  fetch: (request: Request, ...rest: Rest) => Promise<Response>;
  /**
   * Returns the handler of a bus in this isolate, to publish to it, read its counters or drain it.
   * Without an argument it is that of the options' `bus`.
   */
  server: (bus?: string) => ListenHandler<Rest>;
  /**
   * Returns the default name of the caller of a request, for `disconnect`; undefined if the
   * upstream server requires no credential that names a caller. It may ask that server, so call it
   * before you revoke the credentials. Rejects if a caller with several credentials cannot be named
   * now.
   */
  nameOf: (request: Request) => Promise<string | undefined>;
}

/**
 * Serves `subscriptions/listen` and sessions in front of the MCP server at the URL `upstream`,
 * written in any language, and forwards everything else to it. Create it once, for example at the
 * top of the module.
 *
 * @throws ListenError `invalid-options`.
 *
 * @example
 * ```ts
 * const gateway = createGateway('https://mcp.example/mcp', env.MCP_BUS, {
 *   secret: env.PUBLISH_TOKEN,
 * });
 * export default { fetch: (request: Request) => gateway.fetch(request) };
 * ```
 */
export function createGateway<Rest extends unknown[] = []>(
  upstream: string | URL,
  namespace: BusNamespace,
  options: GatewayOptions<Rest> = {},
): Gateway<Rest> {
  const { fetch, nameOf, server } = new GatewayHandler(
    upstreamUrl(upstream),
    namespace,
    options as GatewayOptions,
  );
  return { fetch, server, nameOf };
}

class GatewayHandler implements Gateway<unknown[]> {
  readonly #upstream: URL;
  readonly #namespace: BusNamespace;
  readonly #options: GatewayOptions;
  readonly #onError: (error: Error) => void;
  readonly #bus: BusName;
  readonly #proxy: (request: Request) => Promise<Response>;
  readonly #server: UpstreamServer;
  readonly #admission: UpstreamAdmission;
  readonly #screen: Screen;
  readonly #publish: ((request: Request) => Promise<Response>) | undefined;
  readonly #router: TenantRouter;

  constructor(upstream: URL, namespace: BusNamespace, options: GatewayOptions) {
    const { bus = DEFAULT_BUS, credentialHeaders, listen = {}, onError = report } = options;
    const { subrequests = SUBREQUESTS } = options;
    expectRights(options);
    expectAmounts('', { subrequests });
    this.#upstream = upstream;
    this.#namespace = namespace;
    this.#options = options;
    this.#onError = safeOnError(onError);
    this.#bus = bus;
    this.#proxy = createProxy(upstream, options);
    const { responseBytes } = limitsOf(listen.limits);
    const { responseMs } = timeoutsOf(listen.timeouts);
    this.#server = new UpstreamServer(
      this.#proxy,
      new Credentials(credentialHeaders),
      { responseBytes, responseMs },
      subrequests,
    );
    this.#admission = new UpstreamAdmission(this.#server, options.admitsUnknownMethod ?? false);
    this.#screen = screen(listen);
    this.#router = new TenantRouter({
      namespace,
      bus,
      busOptions: { ...options, ...(listen.onLog && { onLog: listen.onLog }) },
      make: this.#serverOf.bind(this),
      onError: this.#onError,
      max: MAX_SERVERS,
    });
    this.#publish = acceptsPublishes(options)
      ? this.#endpoint(options, { bus, onError })
      : undefined;
    // Invalid options of listens and events throw here, not at the first request.
    this.server();
  }

  readonly fetch = async (request: Request, ...rest: unknown[]): Promise<Response> => {
    const { pathname } = new URL(request.url);
    if (WELL_KNOWN.test(pathname)) return this.#wellKnown(request, pathname);
    const [, before, last] = /^(.*)\/(mcp|publish)$/.exec(pathname) ?? [];
    // The path before names the tenant, and is not allowed without tenants.
    const isServed = last !== undefined && (before === '' || typeof this.#bus === 'function');
    if (isServed && last === 'mcp') return this.#serve(request, rest);
    return isServed && this.#publish !== undefined
      ? this.#publish(request)
      : refusalResponse(Refusal.UnknownServer);
  };

  readonly server = (bus?: string): ListenHandler<unknown[]> => {
    const own = typeof this.#bus === 'string' ? this.#bus : DEFAULT_BUS;
    return this.#router.server(bus ?? own);
  };

  /** Forwards the authorization metadata, under the host and origin policy of `/mcp`. */
  #wellKnown(request: Request, pathname: string): Promise<Response> {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    return this.#screen(request, async () => {
      if (!isRead) return new Response(null, { status: 405, headers: { allow: 'GET, HEAD' } });
      const proxy = createProxy(new URL(pathname, this.#upstream), this.#options);
      // The metadata belongs to no session: no session id passes in either direction.
      return withClientSession(await forward(proxy, { request, rest: [] }, undefined), undefined);
    });
  }

  readonly nameOf = (request: Request): Promise<string | undefined> =>
    this.#admission.nameOf(request);

  /**
   * Creates the publish handler, with the host and origin policy of the MCP endpoint by default.
   */
  #endpoint(
    { events, listen, publish, secret }: GatewayOptions,
    busOptions: Pick<PublishHandlerOptions, 'bus' | 'onError'>,
  ) {
    const { allowedHosts, allowedOrigins } = listen ?? {};
    const originOptions = {
      ...(allowedHosts && { allowedHosts }),
      ...(allowedOrigins && { allowedOrigins }),
    };
    return createPublishHandler(this.#namespace, {
      ...originOptions,
      ...publish,
      ...(events && { events }),
      ...busOptions,
      secret,
    });
  }

  async #serve(request: Request, rest: unknown[]): Promise<Response> {
    return (await this.#router.fetch(request, ...rest)) ?? refusalResponse(Refusal.UnknownServer);
  }

  #serverOf(bus: ListenBus): ForgettableHandler<unknown[]> {
    const onError = this.#onError;
    const { credentialHeaders, events, listen = {}, rights } = this.#options;
    // An option that is set to undefined must not replace a default that denies.
    const authorize =
      listen.authorize ??
      (rights === 'admitted' ? undefined : upstreamAuthorize(this.#server, onError));
    return forgettableHandler<unknown[]>(this.#proxy, {
      onError,
      ...(acceptsPublishes(this.#options) && listen.server === undefined && { advertise: 'all' }),
      ...listen,
      timeouts: { authorizeMs: AUTHORIZE_MS, ...listen.timeouts },
      principal: listen.principal ?? this.#admission.principal,
      ...(authorize && { authorize }),
      ...(credentialHeaders && { credentialHeaders }),
      ...(events && { events }),
      bus,
    });
  }
}

/** @throws ListenError `invalid-options`. */
function expectRights({ events, rights = 'acknowledged' }: GatewayOptions): void {
  if (rights !== 'acknowledged' && rights !== 'admitted')
    throw new ListenError('invalid-options', 'rights must be acknowledged or admitted');
  if (rights === 'admitted' || events === undefined || events.authorizes) return;
  throw new ListenError(
    'invalid-options',
    'events need an authorize of defineEvents, or the rights admitted',
  );
}

function acceptsPublishes({ publish, secret }: GatewayOptions): boolean {
  return !!secret || publish?.publishers !== undefined;
}

/**
 * The only paths of the upstream server that are reachable directly: its authorization metadata.
 */
const WELL_KNOWN = /^\/\.well-known(\/[\w~-][\w.~-]*)+$/;
/** Tenant servers that an isolate keeps while some of them are idle. */
const MAX_SERVERS = 1_000;
/** Subrequests of a request on Workers Paid. */
const SUBREQUESTS = 10_000;
/**
 * Milliseconds for the checks of a caller: a server of revision 2025 may need two requests in
 * sequence.
 */
const AUTHORIZE_MS = 10_000;
