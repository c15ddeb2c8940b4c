/**
 * What answers HTTP requests: a function, or an object with `fetch` (as `createMcpHandler` and
 * Workers have it). `Rest` is what it takes after the request.
 */
export type McpHandler<Rest extends unknown[] = []> = Fetch<Rest> | { fetch: Fetch<Rest> };

/** A handler's function; what a host passes beside the request (`env`, `ctx`, options) goes through. */
export type FetchHandler = Fetch<unknown[]>;

type Fetch<Rest extends unknown[]> = (
  request: Request,
  ...rest: Rest
) => Response | Promise<Response>;

/** The handler as a function. Its further arguments are its own affair: they arrive as the host gave them. */
export function asFetch<Rest extends unknown[]>(handler: McpHandler<Rest>): FetchHandler {
  if (typeof handler === 'function') return handler as FetchHandler;
  return (request, ...rest) => (handler as { fetch: FetchHandler }).fetch(request, ...rest);
}
