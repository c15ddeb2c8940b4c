import type { ListenBus } from '../../bus/bus.js';
import type { McpHandler } from '../../handler/handler.js';
import { forgettableHandler } from '../../listen-handler.js';
import { ListenError } from '../../model/error.js';
import { report, safeOnError } from '../../observe/on-error.js';
import type { ListenHandlerOptions } from '../../options.js';
import type { DurableObjectBusOptions } from '../edge/durable-object-bus.js';
import type { BusName } from '../wire/names.js';
import type { BusNamespace } from '../wire/stubs.js';
import { TenantRouter } from './router.js';

/** The tenant that a handler of {@link routeListenRequest} serves. */
export interface ListenTenant<Env> {
  /** The name of the tenant, which is the name of its bus. */
  name: string;
  /** The bus of the tenant, for `publishChanges`. */
  bus: ListenBus;
  /** The bindings of the Worker. */
  env: Env;
}

/**
 * Options of {@link routeListenRequest}. Create them once, at the top of the module: the servers of
 * tenants are cached by this object. `Env` has the bindings of the Worker, and `Rest` is the list
 * of arguments that follow the options. `onError` and `onLog` are also called for the buses.
 */
export interface RouteListenOptions<Env = Cloudflare.Env, Rest extends unknown[] = []>
  extends Omit<ListenHandlerOptions<Rest>, 'bus'>,
    Pick<DurableObjectBusOptions, 'sockets' | 'wanted'> {
  /** The name of the binding of `SubscriptionBus` in `env`. */
  binding: keyof Env & string;
  /**
   * Returns the name of the tenant of a request, for example by its path or host; undefined if the
   * request is not for this route. A tenant's bus has its name: return only names of tenants.
   */
  tenant: BusName;
  /**
   * Creates the MCP handler of a tenant, once for as long as an isolate keeps the tenant's server.
   */
  handler: (tenant: ListenTenant<Env>) => McpHandler<Rest>;
  /**
   * Maximum number of tenants whose servers an isolate keeps while some of them are idle. The least
   * recently used idle one is dropped first; one with open streams is never dropped.
   * 0 keeps only the server that is in use.
   *
   * @default 1_000
   */
  maxTenants?: number;
}

/**
 * Serves a request in front of the MCP handler of its tenant, on a bus that no other tenant can
 * access. Resolves with undefined if the request is not for this route: `tenant` returned undefined
 * or an invalid name for a bus. `handler`, `principal` and `authorize` receive the arguments `rest`
 * as those of `createListenHandler` do.
 *
 * @throws ListenError (as a rejection) `invalid-options`.
 * @example
 * ```ts
 * const route: RouteListenOptions<Env, [Env, ExecutionContext]> = {
 *   binding: 'MCP_BUS',
 *   tenant: (request) => /^\/(acme|globex)\/mcp$/.exec(new URL(request.url).pathname)?.[1],
 *   handler: ({ bus, name }) => {
 *     const mcp = createMcpHandler(publishChanges(() => serverOf(name), bus));
 *     return (request) => mcp.fetch(request);
 *   },
 *   principal: (request, env) => userOf(request, env.SESSIONS),
 * };
 *
 * export default {
 *   fetch: async (request, env, ctx) =>
 *     (await routeListenRequest(request, env, route, env, ctx)) ??
 *     new Response(null, { status: 404 }),
 * } satisfies ExportedHandler<Env>;
 * ```
 */
export async function routeListenRequest<
  Env extends object = Cloudflare.Env,
  Rest extends unknown[] = [],
>(
  request: Request,
  env: Env,
  options: RouteListenOptions<Env, Rest>,
  ...rest: Rest
): Promise<Response | undefined> {
  // The further arguments are passed on unread.
  const route = options as RouteListenOptions<Env, unknown[]>;
  return routerOf(env, route).fetch(request, ...rest);
}

/** @throws ListenError `invalid-options`. */
function routerOf<Env extends object>(
  env: Env,
  options: RouteListenOptions<Env, unknown[]>,
): TenantRouter {
  const namespace = env[options.binding] as BusNamespace | undefined;
  if (namespace === undefined)
    throw new ListenError('invalid-options', `env has no binding ${options.binding}`);
  const known = ROUTERS.get(namespace) ?? new WeakMap<object, TenantRouter>();
  ROUTERS.set(namespace, known);
  const router = known.get(options) ?? newRouter(env, namespace, options);
  known.set(options, router);
  return router;
}

function newRouter<Env>(
  env: Env,
  namespace: BusNamespace,
  options: RouteListenOptions<Env, unknown[]>,
): TenantRouter {
  const { handler, maxTenants: max = MAX_TENANTS, tenant } = options;
  const onError = safeOnError(options.onError ?? report);
  const make = (bus: ListenBus, name: string) =>
    forgettableHandler<unknown[]>(handler({ name, bus, env }), { ...options, onError, bus });
  return new TenantRouter({ namespace, bus: tenant, busOptions: options, make, onError, max });
}

/** The routers of each namespace, by their options. */
const ROUTERS = new WeakMap<BusNamespace, WeakMap<object, TenantRouter>>();
const MAX_TENANTS = 1_000;
