import type { ServerEvent } from '../model/event.js';

/** The part of an SDK server's message that is used here. */
export interface SomeMessage {
  method?: string;
  params?: { [name: string]: unknown } | undefined;
}

/** The part of an SDK's transport that is used here. */
export interface TransportLike {
  send(message: SomeMessage, ...rest: unknown[]): Promise<void>;
  sessionId?: string | undefined;
}

/** The part of an SDK's `Server` that is used here. */
export interface ServerLike extends Record<(typeof HANDLE_METHODS)[number], () => Promise<void>> {
  connect(transport: TransportLike): Promise<void>;
  notification(message: SomeMessage, ...rest: unknown[]): Promise<void>;
  readonly transport?: unknown;
}

/**
 * The part of an SDK's `McpServer` that is used here: its registration handles call these methods.
 */
export type McpServerLike = Record<(typeof HANDLE_METHODS)[number], () => void>;

/**
 * A server of the official TypeScript SDK, version 1 or 2: an `McpServer`, or its underlying
 * `Server`.
 *
 * @internal
 */
export type SdkServer =
  | SdkLowLevelServer
  | (McpServerLike & { readonly server: SdkLowLevelServer });

/** Like {@link ServerLike}, for the transports and messages of every version of the SDK. */
interface SdkLowLevelServer extends Record<(typeof HANDLE_METHODS)[number], () => Promise<void>> {
  connect(transport: never): Promise<void>;
  notification(message: never, options?: never): Promise<void>;
}

/** The methods that registration handles call. */
export const HANDLE_METHODS = [
  'sendToolListChanged',
  'sendPromptListChanged',
  'sendResourceListChanged',
] as const;

/** Returns the `Server` that sends, and its `McpServer` if there is one. */
export function unwrapServer(server: SdkServer): { low: ServerLike; high?: McpServerLike } {
  if (!('server' in server)) return { low: server as ServerLike };
  return { low: server.server as ServerLike, high: server };
}

/** Returns the change in a notification; undefined for any other message. */
export function eventOfNotification({ method, params }: SomeMessage): ServerEvent | undefined {
  switch (method) {
    case 'notifications/tools/list_changed':
      return { kind: 'tools_list_changed' };
    case 'notifications/prompts/list_changed':
      return { kind: 'prompts_list_changed' };
    case 'notifications/resources/list_changed':
      return { kind: 'resources_list_changed' };
    case 'notifications/events/list_changed':
      return { kind: 'events_list_changed' };
    case 'notifications/resources/updated':
      return { kind: 'resource_updated', uri: params?.['uri'] as string };
    default:
      return undefined;
  }
}
