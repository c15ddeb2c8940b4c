import type { ListenBus, ServerEventBus } from '../bus/bus.js';
import { toAttachableBus } from '../bus/event-bus-adapter.js';
import { report } from '../observe/on-error.js';
import type { SpanTracer } from '../observe/tracing.js';
import { ChangeBatch } from './change-batch.js';
import {
  eventOfNotification,
  HANDLE_METHODS,
  type McpServerLike,
  type SdkServer,
  type ServerLike,
  type TransportLike,
  unwrapServer,
} from './server-shape.js';

/** Options of {@link publishChanges}. */
export interface PublishChangesOptions {
  /**
   * Called with the error of each publish that no caller awaits.
   *
   * @default console.error
   */
  onError?: (error: Error) => void;
  /**
   * Starts a span for each publish.
   *
   * @default undefined
   */
  tracer?: SpanTracer;
}

/**
 * Wraps the factory of an SDK's servers to publish their change notifications on `bus`: those of
 * registration handles (`registerTool` and similar methods once the factory has returned, `enable`,
 * `disable`, `update`, `remove`), of `send...ListChanged` and of `sendResourceUpdated`. Changes of
 * one server in one turn of the event loop are published together, each topic once.
 *
 * Published notifications are not sent to the client of the server, so `bus` must be the one that
 * serves clients: the `bus` of `createListenHandler`, `serveListenStdio` or `createMcpHandler`. A
 * server whose transport keeps a session sends them to its client as well.
 *
 * @throws ListenError (as a rejection of the awaited call) like {@link ListenBus.publish}.
 *
 * @example
 * ```ts
 * const bus = new InMemoryBus();
 * const factory = publishChanges(() => new McpServer({ name: 'lamp', version: '1.0.0' }), bus);
 * const server = createListenHandler(createMcpHandler(factory), { bus });
 * ```
 */
export function publishChanges<Context extends unknown[], Server extends SdkServer>(
  factory: (...context: Context) => Server | Promise<Server>,
  bus: ListenBus | ServerEventBus,
  { onError = report, tracer }: PublishChangesOptions = {},
): (...context: Context) => Promise<Server> {
  const target = toAttachableBus(bus, onError);
  const tracing = tracer && { tracer, onError };
  const known = new WeakSet<SdkServer>();
  return async (...context) => {
    const server = await factory(...context);
    if (!known.has(server)) publish(server, new ChangeBatch(target, tracing), onError);
    known.add(server);
    return server;
  };
}

function publish(server: SdkServer, changes: ChangeBatch, onError: (error: Error) => void): void {
  const { low, high } = unwrapServer(server);
  publishConnected(low, changes);
  publishUnconnected(low, changes);
  if (high !== undefined)
    publishHandles(high, low, (error) => {
      if (!changes.hasReported(error)) onError(error);
    });
}

/** Intercepts the messages that a connected server sends through its transport. */
function publishConnected(server: ServerLike, changes: ChangeBatch): void {
  const connect = server.connect.bind(server);
  server.connect = (transport) => {
    const send = transport.send.bind(transport);
    transport.send = async (message, ...rest) => {
      const event = eventOfNotification(message);
      const published = event && changes.publish(event);
      if (published === undefined || keepsSession(transport)) await send(message, ...rest);
      await published;
    };
    return connect(transport);
  };
}

/** After the response to its request, a server has no transport and would refuse to notify. */
function publishUnconnected(server: ServerLike, changes: ChangeBatch): void {
  const notification = server.notification.bind(server);
  server.notification = async (message, ...rest) => {
    const event = server.transport === undefined ? eventOfNotification(message) : undefined;
    await (event === undefined ? notification(message, ...rest) : changes.publish(event));
  };
}

/** Registration handles await nothing, and send nothing without a transport. */
function publishHandles(
  high: McpServerLike,
  low: ServerLike,
  onError: (error: Error) => void,
): void {
  for (const method of HANDLE_METHODS) {
    high[method] = () => {
      low[method]().catch(onError);
    };
  }
}

/**
 * Returns whether the transport keeps a session, whose client has its stream there and not here.
 */
function keepsSession({ sessionId }: TransportLike): boolean {
  return sessionId !== undefined;
}
