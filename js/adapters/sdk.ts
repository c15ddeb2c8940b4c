/**
 * `createMcpHandler` of `@modelcontextprotocol/server`, with `subscriptions/listen` served by this
 * package.
 *
 * @packageDocumentation
 */
import '#runtime';
import {
  type McpHandlerRequestOptions,
  type McpHttpHandler,
  type McpServerFactory,
  type CreateMcpHandlerOptions as SdkOptions,
  createMcpHandler as sdkHandler,
} from '@modelcontextprotocol/server';
import type { ServerEventBus } from '../bus/bus.js';
import { toAttachableBus } from '../bus/event-bus-adapter.js';
import { InMemoryBus } from '../bus/memory/bus.js';
import { createListenHandler } from '../listen-handler.js';
import { report } from '../observe/on-error.js';
import { operatedAs } from '../operator/operators.js';
import type { ListenHandler, ListenHandlerOptions } from '../options.js';
import { publishChanges } from '../sdk/publish-changes.js';

/** The options of the SDK's `createMcpHandler` and of `createListenHandler`. */
export interface CreateMcpHandlerOptions
  extends Omit<ListenHandlerOptions<[options?: McpHandlerRequestOptions | undefined]>, 'bus'>,
    Omit<SdkOptions, 'bus' | 'legacy'> {
  /**
   * Carries events between publishers and streams: a bus of this package, or one written for the
   * SDK.
   *
   * @default a new `InMemoryBus`
   */
  bus?: ListenHandler['bus'] | ServerEventBus;
  /**
   * Streams that this handler holds at the same time. An alias of `limits.maxSubscriptions`, which
   * takes precedence.
   *
   * @default 4_000
   */
  maxSubscriptions?: number;
}

/**
 * The handler of the SDK's `createMcpHandler`, with the members that `createListenHandler` adds.
 */
export interface McpListenHandler
  extends Omit<ListenHandler<[options?: McpHandlerRequestOptions | undefined]>, 'fetch'> {
  /** Handles one HTTP request. Does not depend on `this`. */
  fetch: McpHttpHandler['fetch'];
}

/**
 * Creates the handler of `createMcpHandler` of `@modelcontextprotocol/server`, with
 * `subscriptions/listen` served by this package. It takes the same arguments, so a server migrates
 * by changing its import. The notifications of the servers that `factory` creates are published on
 * the bus, as `publishChanges` does.
 *
 * @throws ListenError `invalid-options`.
 * @example
 * ```ts
 * import { McpServer } from '@modelcontextprotocol/server';
 * import { createMcpHandler } from 'mcp-listen/sdk';
 *
 * export default createMcpHandler(() => new McpServer({ name: 'lamp', version: '1.0.0' }));
 * ```
 */
export function createMcpHandler(
  factory: McpServerFactory,
  options: CreateMcpHandlerOptions = {},
): McpListenHandler {
  const { legacy, limits, maxSubscriptions, onerror = report, onError = onerror, tracer } = options;
  const bus = toAttachableBus(options.bus ?? new InMemoryBus({ onError }), onError);
  const publishing = publishChanges(factory, bus, { onError, ...(tracer && { tracer }) });
  const sdkServer = sdkHandler(publishing, sdkOptions({ ...options, onerror: onError }));
  const server = createListenHandler(
    (request: Request, given?: McpHandlerRequestOptions) => sdkServer.fetch(request, authOf(given)),
    {
      ...options,
      onError,
      bus,
      // The SDK's handler serves clients of 2025 by its own rules, and refuses them by its own
      // rules too.
      ...(legacy !== undefined && { legacy: legacy === 'sessions' ? legacy : 'stateless' }),
      limits: { ...(maxSubscriptions !== undefined && { maxSubscriptions }), ...limits },
    },
  );
  const handler: McpListenHandler = {
    ...server,
    fetch: (request, given) => server.fetch(withBody(request, given), given),
    close: async () => {
      await server.close();
      await sdkServer.close();
    },
  };
  return operatedAs(handler, server);
}

/**
 * Returns the options for the SDK's handler. It gets no bus, since listen requests do not reach it.
 */
function sdkOptions({
  keepAliveMs,
  legacy,
  maxRequestBodySize,
  onerror,
  responseMode,
}: CreateMcpHandlerOptions) {
  return {
    ...(keepAliveMs !== undefined && { keepAliveMs }),
    ...(legacy !== undefined && legacy !== 'sessions' && { legacy }),
    ...(maxRequestBodySize !== undefined && { maxRequestBodySize }),
    ...(onerror !== undefined && { onerror }),
    ...(responseMode !== undefined && { responseMode }),
  };
}

/**
 * Returns the options for one request of the SDK's handler. Leaves out `parsedBody`: it is already
 * in the request, and it is not the body of the requests that this package sends itself.
 */
function authOf(given: McpHandlerRequestOptions | undefined): McpHandlerRequestOptions {
  const { authInfo } = given ?? {};
  return authInfo === undefined ? {} : { authInfo };
}

/**
 * Restores the body of a request that was parsed before, since listen requests are checked byte by
 * byte.
 */
function withBody(request: Request, given: McpHandlerRequestOptions | undefined): Request {
  const { parsedBody } = given ?? {};
  if (parsedBody === undefined || request.method !== 'POST') return request;
  const { headers, signal, url } = request;
  return new Request(url, { method: 'POST', headers, body: JSON.stringify(parsedBody), signal });
}
