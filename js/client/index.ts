/**
 * Live notifications for MCP clients: subscriptions that stay open, over HTTP, to servers of 2026-07-28 and of 2025.
 *
 * @packageDocumentation
 */
export type { ChangeEvent as ServerEvent } from '../event.js';
export type { SubscriptionFilter } from '../filter.js';
export type { TaskState } from '../task.js';
export type { ChannelMember, ChannelReceiver, ListenChannel } from './channel.js';
export {
  AckTimeout,
  ListenError,
  type ListenErrorCode,
  ListenNotSupported,
  ListenRejected,
  SubscriptionLost,
} from './error.js';
export type { WatchHandler, WatchHandlers } from './handlers.js';
export { listen } from './listen.js';
export type { ClientInfo, ListenMessage, ListenOptions, TokenProvider } from './options.js';
export type { SdkClient, SdkTransport } from './sdk-channel.js';
export type { Era, Subscription } from './subscription.js';
export type { HttpTarget, ListenTarget, RequestFactory, RequestParts } from './target.js';
export { type Watch, type WatchOptions, watch } from './watch.js';
export type { WatchState } from './watch-news.js';
