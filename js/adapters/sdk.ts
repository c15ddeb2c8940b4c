/**
 * `createMcpHandler` of `@modelcontextprotocol/server`, with listens served by this package.
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
import { InMemoryBus } from '../bus/memory/memory-bus.js';
import { createListenHandler } from '../listen-handler.js';
import { report } from '../observe/on-error.js';
import type { ListenHandler, ListenHandlerOptions } from '../options.js';
import { publishChanges } from '../sdk/publish-changes.js';

/** The options of the SDK's `createMcpHandler`, and those of `createListenHandler`. */
export interface CreateMcpHandlerOptions
  extends Omit<ListenHandlerOptions<[options?: McpHandlerRequestOptions | undefined]>, 'bus'>,
    Omit<SdkOptions, 'bus' | 'legacy'> {
  /**
   * Carries events between publishers and streams: a bus of this package, or one that was written
   * for the SDK.
   *
   * @default a new `InMemoryBus`
   */
  bus?: ListenHandler['bus'] | ServerEventBus;
  /**
   * Streams that this handler holds at once; the same as `limits.maxSubscriptions`, which wins.
   *
   * @default 4000
   */
  maxSubscriptions?: number;
}

/** The handler of the SDK's `createMcpHandler`, and what `createListenHandler` adds to it. */
export interface McpListenHandler
  extends Omit<ListenHandler<[options?: McpHandlerRequestOptions | undefined]>, 'fetch'> {
  /** Answers one HTTP request; may be detached from this object. */
  fetch: McpHttpHandler['fetch'];
}

/**
 * Creates what `createMcpHandler` of `@modelcontextprotocol/server` creates, with listens served by
 * this package. It takes the same arguments, so that a server moves over by its import. The
 * notifications of the servers that `factory` makes are published on the bus, as
 * `publishChanges` does.
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
  const behind = sdkHandler(publishing, sdkOptions({ ...options, onerror: onError }));
  const server = createListenHandler(
    (request: Request, given?: McpHandlerRequestOptions) => behind.fetch(request, authOf(given)),
    {
      ...options,
      onError,
      bus,
      // What the SDK's handler does with clients of 2025 is its own, refusals included.
      ...(legacy !== undefined && { legacy: legacy === 'sessions' ? legacy : 'stateless' }),
      limits: { ...(maxSubscriptions !== undefined && { maxSubscriptions }), ...limits },
    },
  );
  return {
    ...server,
    fetch: (request, given) => server.fetch(withBody(request, given), given),
    close: async () => {
      await server.close();
      await behind.close();
    },
  };
}

/** The bus is not the SDK's affair: listens do not reach it. */
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

/** A parsed body is in the request by now, and no answer to the questions that are asked for it. */
function authOf(given: McpHandlerRequestOptions | undefined): McpHandlerRequestOptions {
  const { authInfo } = given ?? {};
  return authInfo === undefined ? {} : { authInfo };
}

/** Puts a body that was parsed before into the request again, since listens are judged by bytes. */
function withBody(request: Request, given: McpHandlerRequestOptions | undefined): Request {
  const { parsedBody } = given ?? {};
  if (parsedBody === undefined || request.method !== 'POST') return request;
  const { headers, signal, url } = request;
  return new Request(url, { method: 'POST', headers, body: JSON.stringify(parsedBody), signal });
}
