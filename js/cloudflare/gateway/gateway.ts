import { type ProxyOptions, proxyTo, upstreamUrl } from '../../handler/proxy.js';
import { refused } from '../../handler/upstream-response.js';
import { renamed, send } from '../../http/inbound.js';
import { type Screen, screen } from '../../http/origin-guard.js';
import { type ForgettableHandler, forgettableHandler } from '../../listen-handler.js';
import { ListenError } from '../../model/error.js';
import { limitsOf } from '../../model/limits.js';
import { guarded, report } from '../../observe/on-error.js';
import type { ListenHandler, ListenHandlerOptions } from '../../options.js';
import { Refusal } from '../../wasm/server/bindings.js';
import { Credentials } from '../../web/credentials.js';
import { type BusNamespace, durableObjectBus } from '../edge/durable-object-bus.js';
import { type PublishOptions, publishEndpoint } from '../publish/endpoint.js';
import { TenantRouter } from '../route/router.js';
import { type BusName, DEFAULT_BUS } from '../wire/names.js';
import { UpstreamServer } from './upstream.js';
import { upstreamAuthorize } from './upstream-authorize.js';
import { upstreamPrincipal } from './upstream-principal.js';

/** How a {@link gateway} serves. */
export interface GatewayOptions extends ProxyOptions {
  /**
   * Chooses the bus of each request, and so its tenant: those of different buses do not hear each other, and know nothing of
   * each other's sessions. Undefined: 404 (default: one bus, `mcp-listen`).
   */
  busName?: BusName;
  /** The secret of those who publish at `/publish`, see {@link PublishOptions.secret}. Default: there is no such path. */
  publishSecret?: PublishOptions['secret'];
  /** Publishers with narrowed rights, and further options of `/publish`. */
  publish?: Omit<PublishOptions, 'busName' | 'onerror' | 'secret'>;
  /**
   * What an admitted caller receives of what it names. `acknowledged` (default): what the server
   * behind acknowledges to a listen with the credentials of that caller, asked again like every
   * `authorize`; nothing if the server has no `subscriptions/listen`. `admitted`: everything that is
   * published or watched. An `authorize` in `listen` replaces both.
   */
  rights?: 'acknowledged' | 'admitted';
  /**
   * Names of header fields that identify a caller, beside `Authorization` and `Cookie`, such as
   * `X-API-Key`. Questions about a caller carry these fields alone. Cookies are not a part of a
   * caller's name unless `Cookie` is listed here (default: none).
   */
  credentialHeaders?: readonly string[];
  /**
   * Also admits a caller if the server behind answers `server/discover` with a JSON-RPC error "no such
   * method or revision" (default false: a server that looks at the method before the credentials
   * would admit every caller).
   */
  admitsUnknownMethod?: boolean;
  /**
   * How listens and sessions are served. Here `capabilities` are `offered` by default, where there is a secret for
   * publishers, and `limits.authorizeMs` is 10,000. The default `principal` admits the callers that the
   * server behind serves, and names each by a digest of its credentials, unless the server serves
   * callers without any; the default `authorize` is what `rights` says.
   */
  listen?: Omit<ListenHandlerOptions, 'bus' | 'credentialHeaders'>;
}

/** Stands in front of an MCP server. */
export interface Gateway {
  /** Answers `/mcp`, `/publish` and `/.well-known/`, with whatever before it that `busName` may look at; all else is 404. */
  fetch: (request: Request) => Promise<Response>;
  /** What serves a bus in this isolate: to publish on it, for its numbers, or to drain it (default: `mcp-listen`). */
  server: (busName?: string) => ListenHandler;
  /**
   * Returns the default name of the caller of a request, for `revoke`; undefined without credentials. Where
   * the server behind serves callers without credentials, streams and sessions have no such name.
   */
  nameOf: (request: Request) => Promise<string | undefined>;
}

/**
 * Serves `subscriptions/listen` and sessions in front of the MCP server at the URL `upstream`, in whatever language,
 * and forwards everything else to it. Make it once, for example at the top of the module.
 *
 * @throws ListenError `invalid-options`.
 */
export function gateway(upstream: string | URL, namespace: BusNamespace, options: GatewayOptions = {}): Gateway {
  const { fetch, nameOf, server } = new Gate(upstreamUrl(upstream), namespace, options);
  return { fetch, server, nameOf };
}

class Gate implements Gateway {
  readonly #upstream: URL;
  readonly #namespace: BusNamespace;
  readonly #options: GatewayOptions;
  readonly #onerror: (error: Error) => void;
  readonly #busName: BusName | string;
  readonly #proxy: (request: Request) => Promise<Response>;
  readonly #behind: UpstreamServer;
  readonly #screen: Screen;
  readonly #publish: ((request: Request) => Promise<Response>) | undefined;
  readonly #router: TenantRouter;

  constructor(upstream: URL, namespace: BusNamespace, options: GatewayOptions) {
    const { busName = DEFAULT_BUS, credentialHeaders, listen = {}, onerror = report } = options;
    expectRights(options);
    this.#upstream = upstream;
    this.#namespace = namespace;
    this.#options = options;
    this.#onerror = guarded(onerror);
    this.#busName = busName;
    this.#proxy = proxyTo(upstream, options);
    this.#behind = new UpstreamServer(this.#proxy, new Credentials(credentialHeaders), limitsOf(listen.limits));
    this.#screen = screen(listen);
    const make = this.#serverOf.bind(this);
    this.#router = new TenantRouter({ busName, make, onerror: this.#onerror, most: MAX_SERVERS });
    this.#publish = takesPublishes(options) ? this.#endpoint(options, { busName, onerror }) : undefined;
  }

  readonly fetch = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    if (WELL_KNOWN.test(pathname)) return this.#wellKnown(request, pathname);
    const [, before, leaf] = /^(.*)\/(mcp|publish)$/.exec(pathname) ?? [];
    // What stands before is the tenant's: without tenants there is nothing.
    const isHere = leaf !== undefined && (before === '' || typeof this.#busName === 'function');
    const answer = leaf === 'publish' ? this.#publish : this.#serve;
    return isHere && answer !== undefined ? answer(request) : refused(Refusal.UnknownServer);
  };

  readonly server = (busName: string = DEFAULT_BUS): ListenHandler => this.#router.server(busName);

  /** Forwards the metadata about who authorizes clients, under the host and origin policy of `/mcp`. */
  #wellKnown(request: Request, pathname: string): Promise<Response> {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    return this.#screen(request, async () => {
      if (!isRead) return new Response(null, { status: 405, headers: { allow: 'GET, HEAD' } });
      const proxy = proxyTo(new URL(pathname, this.#upstream), this.#options);
      // It is nothing of a session: the server behind hears of none, and the client of none of its own.
      return renamed(await send(proxy, { request, rest: [] }, undefined), undefined);
    });
  }

  readonly nameOf = (request: Request): Promise<string | undefined> => this.#behind.credentials.nameOf(request);

  /** Pages and hosts are judged as those of the MCP endpoint are. */
  #endpoint({ listen, publish, publishSecret }: GatewayOptions, where: Pick<PublishOptions, 'busName' | 'onerror'>) {
    const { allowedHosts, allowedOrigins } = listen ?? {};
    const front = { ...(allowedHosts && { allowedHosts }), ...(allowedOrigins && { allowedOrigins }) };
    return publishEndpoint(this.#namespace, { ...front, ...publish, ...where, secret: publishSecret });
  }

  readonly #serve = async (request: Request): Promise<Response> =>
    (await this.#router.fetch(request)) ?? refused(Refusal.UnknownServer);

  #serverOf(name: string): ForgettableHandler {
    const onerror = this.#onerror;
    const { admitsUnknownMethod = false, credentialHeaders, listen = {}, rights } = this.#options;
    // An option that is undefined must not replace a default that denies.
    const authorize =
      listen.authorize ?? (rights === 'admitted' ? undefined : upstreamAuthorize(this.#behind, onerror));
    return forgettableHandler(this.#proxy, {
      onerror,
      ...(takesPublishes(this.#options) && { capabilities: 'offered' }),
      ...listen,
      limits: { authorizeMs: AUTHORIZE_MS, ...listen.limits },
      principal: listen.principal ?? upstreamPrincipal(this.#behind, admitsUnknownMethod),
      ...(authorize && { authorize }),
      ...(credentialHeaders && { credentialHeaders }),
      bus: durableObjectBus(this.#namespace, { name, onerror }),
    });
  }
}

/** @throws ListenError `invalid-options`. */
function expectRights({ rights = 'acknowledged' }: GatewayOptions): void {
  if (rights === 'acknowledged' || rights === 'admitted') return;
  throw new ListenError('invalid-options', 'rights must be acknowledged or admitted');
}

function takesPublishes({ publish, publishSecret }: GatewayOptions): boolean {
  return !!publishSecret || publish?.publishers !== undefined;
}

/** Nothing else of the server behind can be reached: this is what says who authorizes its clients. */
const WELL_KNOWN = /^\/\.well-known(\/[\w~-][\w.~-]*)+$/;
/** Servers of tenants that an isolate keeps where some of them are idle. */
const MAX_SERVERS = 1_000;
/** Milliseconds for the questions about a caller: a slow server of 2025 is asked two, one after the other. */
const AUTHORIZE_MS = 10_000;
