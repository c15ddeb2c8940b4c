import type { ServerEvent } from '../model/event.js';

/** What is looked at of a message that an SDK's server sends. */
export interface SomeMessage {
  method?: string;
  params?: { [name: string]: unknown } | undefined;
}

/** What is looked at of an SDK's transport. */
export interface TransportLike {
  send(message: SomeMessage, ...rest: unknown[]): Promise<void>;
  sessionId?: string | undefined;
}

/** What is looked at of an SDK's `Server`. */
export interface ServerLike extends Record<(typeof HANDLE_METHODS)[number], () => Promise<void>> {
  connect(transport: TransportLike): Promise<void>;
  notification(message: SomeMessage, ...rest: unknown[]): Promise<void>;
  readonly transport?: unknown;
}

/** What is looked at of an SDK's `McpServer`: its registration handles call these. */
export type McpServerLike = Record<(typeof HANDLE_METHODS)[number], () => void>;

/**
 * A server of the official TypeScript SDK, of its version 2 or 1: an `McpServer`, or the `Server`
 * below it.
 *
 * @internal
 */
export type SdkServer =
  | SdkLowLevelServer
  | (McpServerLike & { readonly server: SdkLowLevelServer });

/** As {@link ServerLike}, whatever transports and messages the version of the SDK knows. */
interface SdkLowLevelServer extends Record<(typeof HANDLE_METHODS)[number], () => Promise<void>> {
  connect(transport: never): Promise<void>;
  notification(message: never, options?: never): Promise<void>;
}

/** What registration handles call. */
export const HANDLE_METHODS = [
  'sendToolListChanged',
  'sendPromptListChanged',
  'sendResourceListChanged',
] as const;

/** The `Server` that sends, and the `McpServer` above it where there is one. */
export function unwrapServer(server: SdkServer): { low: ServerLike; high?: McpServerLike } {
  if (!('server' in server)) return { low: server as ServerLike };
  return { low: server.server as ServerLike, high: server };
}

/** The change that a message notifies of; undefined for any other message. */
export function eventOfNotification({ method, params }: SomeMessage): ServerEvent | undefined {
  switch (method) {
    case 'notifications/tools/list_changed':
      return { kind: 'tools_list_changed' };
    case 'notifications/prompts/list_changed':
      return { kind: 'prompts_list_changed' };
    case 'notifications/resources/list_changed':
      return { kind: 'resources_list_changed' };
    case 'notifications/resources/updated':
      return { kind: 'resource_updated', uri: params?.['uri'] as string };
    default:
      return undefined;
  }
}
