/**
 * A Hono handler that serves `subscriptions/listen` in front of an MCP handler.
 *
 * @packageDocumentation
 */
import '#runtime';
import type { Context, Env, MiddlewareHandler } from 'hono';
import type { Authorization, AuthorizeContext } from '../auth/authorize.js';
import type { PrincipalResult } from '../auth/principal.js';
import type { McpFetch } from '../handler/handler.js';
import { createListenHandler } from '../listen-handler.js';
import { operatedAs } from '../operator/operators.js';
import type { ListenHandler, ListenHandlerOptions } from '../options.js';

/**
 * Options of {@link listenMiddleware}: those of `createListenHandler`, with Hono's context passed
 * to `principal` and `authorize`.
 */
export interface HonoListenOptions<E extends Env>
  extends Omit<ListenHandlerOptions<[Context<E>]>, 'authorize' | 'principal'> {
  /**
   * Returns the name of the caller of a request, or denies it; often uses the result of an earlier
   * middleware: `(c) => c.get('user')`. Called again while a stream is open, with the context of
   * the request that opened it. `request` is a copy without a body, for `isOpenStream(request)`.
   *
   * @default no caller has a name
   */
  principal?: (c: Context<E>, request: Request) => PrincipalResult | Promise<PrincipalResult>;
  /**
   * Returns what a caller may receive.
   *
   * @default everything
   */
  authorize?: (
    context: AuthorizeContext<[Context<E>]> & { c: Context<E> },
  ) => Authorization | Promise<Authorization>;
}

/**
 * An MCP handler: an object with `fetch`, or a function. A function must handle `request`, not
 * `c.req.raw`.
 */
export type HonoMcpHandler<E extends Env> =
  | McpFetch<[Context<E>]>
  | {
      /** Handles one request. */
      fetch: McpFetch;
    };

/**
 * A handler for a Hono route, with all members that `createListenHandler` returns except `fetch`.
 */
export type ListenMiddleware<E extends Env> = MiddlewareHandler<E> &
  Omit<ListenHandler<[Context<E>]>, 'fetch'>;

/**
 * Returns a handler for `app.all` or `app.use` that serves `subscriptions/listen` in front of an
 * MCP handler. It handles every request of the route: this package does, or `handler`, which may be
 * a function or an object with `fetch`. A function also receives Hono's context.
 *
 * @throws ListenError `invalid-options`.
 * @example
 * ```ts
 * type App = { Variables: { user: string } };
 * const mcp = listenMiddleware<App>(createMcpHandler(factory), {
 *   bus,
 *   principal: (c) => c.get('user'),
 * });
 * app.all('/mcp', mcp);
 * await mcp.notify.toolsChanged();
 * ```
 */
export function listenMiddleware<E extends Env = Env>(
  handler: HonoMcpHandler<E>,
  { authorize, principal, ...options }: HonoListenOptions<E> = {},
): ListenMiddleware<E> {
  const listening = createListenHandler<[Context<E>]>(asFunction(handler), {
    ...options,
    ...(authorize && { authorize: (context) => authorize({ ...context, c: context.args[0] }) }),
    ...(principal && { principal: (request, c) => principal(c, request) }),
  });
  const { fetch, ...server } = listening;
  const middleware: MiddlewareHandler<E> = async (c) => fetch(await readable(c), c);
  return operatedAs(Object.assign(middleware, server), listening);
}

/**
 * Returns the handler as a function. An object's `fetch` takes options or an environment as its
 * second argument, so it does not receive the context.
 */
function asFunction<E extends Env>(handler: HonoMcpHandler<E>): McpFetch<[Context<E>]> {
  return typeof handler === 'function' ? handler : (request) => handler.fetch(request);
}

/** Returns the request. If a middleware has read the body, the body comes from Hono's cache. */
async function readable<E extends Env>({ req }: Context<E>): Promise<Request> {
  const { headers, method, signal, url } = req.raw;
  if (!req.raw.bodyUsed || Object.keys(req.bodyCache).length === 0) return req.raw;
  return new Request(url, { method, headers, signal, body: await req.arrayBuffer() });
}
