import { asFetch } from '../handler.js';
import { serveListen } from '../http.js';
import type { ListenOptions, ListenServer } from '../options.js';
import { type ProxyOptions, proxyTo, refused, upstreamUrl } from '../proxy.js';
import { guarded, report } from '../report.js';
import { Refusal } from '../wasm.js';
import { admittedBy } from './admission.js';
import { type BusName, busNameOf, DEFAULT_BUS } from './bus-name.js';
import { type BusNamespace, durableObjectBus } from './durable-object-bus.js';
import { type PublishOptions, publishEndpoint } from './publish-endpoint.js';

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
   * How listens and sessions are served. Here `capabilities` are `offered` by default, where there is a secret for
   * publishers; and by default a `principal` lets in whom the server behind answers.
   */
  listen?: Omit<ListenOptions, 'bus'>;
}

/** Stands in front of an MCP server. */
export interface Gateway {
  /** Answers `/mcp`, `/publish` and `/.well-known/`, with whatever before it that `busName` may look at; all else is 404. */
  fetch: (request: Request) => Promise<Response>;
  /** What serves a bus in this isolate: to publish on it, for its numbers, or to drain it (default: `mcp-listen`). */
  server: (busName?: string) => ListenServer;
}

/**
 * Serves `subscriptions/listen` and sessions in front of the MCP server at the URL `upstream`, in whatever language,
 * and forwards everything else to it. Make it once, for example at the top of the module.
 *
 * @throws ListenError `invalid-options`.
 */
export function gateway(upstream: string | URL, namespace: BusNamespace, options: GatewayOptions = {}): Gateway {
  const { fetch, server } = new Gate(upstreamUrl(upstream), namespace, options);
  return { fetch, server };
}

class Gate implements Gateway {
  readonly #upstream: URL;
  readonly #namespace: BusNamespace;
  readonly #options: GatewayOptions;
  readonly #onerror: (error: Error) => void;
  readonly #busName: BusName | string;
  readonly #proxy: (request: Request) => Promise<Response>;
  readonly #publish: ((request: Request) => Promise<Response>) | undefined;
  readonly #servers = new Map<string, ListenServer>();

  constructor(upstream: URL, namespace: BusNamespace, options: GatewayOptions) {
    const { busName = DEFAULT_BUS, onerror = report } = options;
    this.#upstream = upstream;
    this.#namespace = namespace;
    this.#options = options;
    this.#onerror = guarded(onerror);
    this.#busName = busName;
    this.#proxy = proxyTo(upstream, options);
    this.#publish = takesPublishes(options) ? this.#endpoint(options, { busName, onerror }) : undefined;
  }

  readonly fetch = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    if (WELL_KNOWN.test(pathname)) return proxyTo(new URL(pathname, this.#upstream), this.#options)(request);
    const [, before, leaf] = /^(.*)\/(mcp|publish)$/.exec(pathname) ?? [];
    // What stands before is the tenant's: without tenants there is nothing.
    const isHere = leaf !== undefined && (before === '' || typeof this.#busName === 'function');
    const answer = leaf === 'publish' ? this.#publish : this.#serve;
    return isHere && answer !== undefined ? answer(request) : refused(Refusal.UnknownServer);
  };

  readonly server = (busName: string = DEFAULT_BUS): ListenServer => {
    const known = this.#servers.get(busName);
    const server = known ?? this.#serverOf(busName);
    // The first ones are those that nobody asked for longest.
    this.#servers.delete(busName);
    this.#servers.set(busName, server);
    if (known === undefined) this.#forget();
    return server;
  };

  /** Pages and hosts are judged as those of the MCP endpoint are. */
  #endpoint({ listen, publish, publishSecret }: GatewayOptions, where: Pick<PublishOptions, 'busName' | 'onerror'>) {
    const { allowedHosts, allowedOrigins } = listen ?? {};
    const front = { ...(allowedHosts && { allowedHosts }), ...(allowedOrigins && { allowedOrigins }) };
    return publishEndpoint(this.#namespace, { ...front, ...publish, ...where, secret: publishSecret });
  }

  readonly #serve = async (request: Request): Promise<Response> => {
    let name: string | undefined;
    try {
      name = await busNameOf(this.#busName, request);
    } catch (error) {
      this.#onerror(error as Error);
      return refused(Refusal.Unavailable);
    }
    return name === undefined ? refused(Refusal.UnknownServer) : this.server(name).fetch(request);
  };

  #serverOf(name: string): ListenServer {
    const onerror = this.#onerror;
    const { listen } = this.#options;
    return serveListen(this.#proxy, {
      principal: admittedBy(asFetch(this.#proxy)),
      onerror,
      ...(takesPublishes(this.#options) && { capabilities: 'offered' }),
      ...listen,
      bus: durableObjectBus(this.#namespace, { name, onerror }),
    });
  }

  /** There may be more tenants than an isolate has room for. */
  #forget(): void {
    if (this.#servers.size <= MOST_SERVERS) return;
    const [idle] = [...this.#servers].find(([, server]) => server.stats().open === 0) ?? [];
    if (idle !== undefined) this.#servers.delete(idle);
  }
}

function takesPublishes({ publish, publishSecret }: GatewayOptions): boolean {
  return !!publishSecret || publish?.publishers !== undefined;
}

/** Nothing else of the server behind can be reached: this is what says who authorizes its clients. */
const WELL_KNOWN = /^\/\.well-known(\/[\w~-][\w.~-]*)+$/;
const MOST_SERVERS = 1_000;
