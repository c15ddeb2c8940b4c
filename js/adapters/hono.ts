/**
 * A handler for Hono that serves `subscriptions/listen` in front of an MCP handler.
 *
 * @packageDocumentation
 */
import '#runtime';
import type { Context, Env, MiddlewareHandler } from 'hono';
import type { Authorization, AuthorizeContext } from '../auth/authorize.js';
import type { PrincipalAnswer } from '../auth/principal.js';
import { createListenHandler } from '../listen-handler.js';
import type { ListenHandler, ListenHandlerOptions } from '../options.js';

/**
 * How {@link listen} serves: the options of `createListenHandler`, with Hono's context where a
 * caller is judged.
 */
export interface HonoListenOptions<E extends Env>
  extends Omit<ListenHandlerOptions<[Context<E>]>, 'authorize' | 'principal'> {
  /**
   * Names the caller of a request, or denies it, often by what a middleware before has found out:
   * `(c) => c.get('user')`. While a stream is open it is called again with the context of the
   * request that opened it. `request` is a copy without a body, for `isOpenStream(request)`.
   *
   * @default no caller has a name
   */
  principal?: (c: Context<E>, request: Request) => PrincipalAnswer | Promise<PrincipalAnswer>;
  /**
   * Says what a caller may receive.
   *
   * @default everything
   */
  authorize?: (
    context: AuthorizeContext<[Context<E>]> & { c: Context<E> },
  ) => Authorization | Promise<Authorization>;
}

/**
 * An MCP handler: an object with `fetch`, or a function. A function has to answer `request`, not
 * `c.req.raw`.
 */
export type HonoMcpHandler<E extends Env> = Answers<[Context<E>]> | { fetch: Answers<[]> };

type Answers<Rest extends unknown[]> = (
  request: Request,
  ...rest: Rest
) => Response | Promise<Response>;

/** A handler for a route of Hono, with all that `createListenHandler` returns except `fetch`. */
export type ListenMiddleware<E extends Env> = MiddlewareHandler<E> &
  Omit<ListenHandler<[Context<E>]>, 'fetch'>;

/**
 * Serves `subscriptions/listen` in front of an MCP handler, as a handler for `app.all` or
 * `app.use`. Every request of the route is answered: by this package, or by `handler`, which may be
 * a function or an object with `fetch`. A function is called with Hono's context too.
 *
 * @throws ListenError `invalid-options`.
 * @example
 * ```ts
 * const mcp = listen(createMcpHandler(factory), { bus, principal: (c) => c.get('user') });
 * app.all('/mcp', mcp);
 * await mcp.notify.toolsChanged();
 * ```
 */
export function listen<E extends Env = Env>(
  handler: HonoMcpHandler<E>,
  { authorize, principal, ...options }: HonoListenOptions<E> = {},
): ListenMiddleware<E> {
  const { fetch, ...server } = createListenHandler<[Context<E>]>(behind(handler), {
    ...options,
    ...(authorize && { authorize: (asked) => authorize({ ...asked, c: asked.args[0] }) }),
    ...(principal && { principal: (request, c) => principal(c, request) }),
  });
  const middleware: MiddlewareHandler<E> = async (c) => fetch(await unread(c), c);
  return Object.assign(middleware, server);
}

/** An object's `fetch` takes options or an environment in second place, and no context. */
function behind<E extends Env>(handler: HonoMcpHandler<E>): Answers<[Context<E>]> {
  return typeof handler === 'function' ? handler : (request) => handler.fetch(request);
}

/** The request; with a body that a middleware has read, Hono has kept that. */
async function unread<E extends Env>({ req }: Context<E>): Promise<Request> {
  const { headers, method, signal, url } = req.raw;
  if (!req.raw.bodyUsed || Object.keys(req.bodyCache).length === 0) return req.raw;
  return new Request(url, { method, headers, signal, body: await req.arrayBuffer() });
}
