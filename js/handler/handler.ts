/**
 * A handler of HTTP requests: a function, or an object with `fetch`, such as the result of
 * `createMcpHandler` or a Worker. `Rest` is the list of its parameters after the request.
 */
export type McpHandler<Rest extends unknown[] = []> =
  | McpFetch<Rest>
  | {
      /** Handles one request. */
      fetch: McpFetch<Rest>;
    };

/** The function of a handler. `Rest` is the list of its parameters after the request. */
export type McpFetch<Rest extends unknown[] = []> = (
  request: Request,
  ...rest: Rest
) => Response | Promise<Response>;

/**
 * The function of a handler. It receives the arguments that the host passed after the request
 * (`env`, `ctx`, options).
 */
export type FetchHandler = McpFetch<unknown[]>;

/** Returns the handler as a function, which passes all arguments on unchanged. */
export function asFetch<Rest extends unknown[]>(handler: McpHandler<Rest>): FetchHandler {
  if (typeof handler === 'function') return handler as FetchHandler;
  return (request, ...rest) => (handler as { fetch: FetchHandler }).fetch(request, ...rest);
}
