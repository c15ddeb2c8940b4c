/**
 * Live notifications for MCP clients: long-lived subscriptions over HTTP to servers of revision
 * 2026-07-28 and of 2025.
 *
 * @packageDocumentation
 */

export { ListenError, type ListenErrorCode } from '../model/error.js';
export type { ChangeEvent } from '../model/event.js';
export type { EventError, EventErrorCode } from '../model/events/event-error.js';
export type { EventGap, EventOccurrence } from '../model/events/occurrence.js';
export type { SubscriptionFilter } from '../model/filter.js';
export {
  AckTimeout,
  type RefusalDetails,
  SubscriptionLost,
  SubscriptionRefused,
  SubscriptionsNotSupported,
} from '../model/subscription-error.js';
export type { TaskState } from '../model/task.js';
export { events, type WatchedEvents } from './events/events.js';
export type {
  CursorStore,
  EventHandlers,
  EventWatchMode,
  EventWatchOptions,
  WatchEventsOptions,
} from './events/options.js';
export { type EventWatch, watchEvents } from './events/watch-events.js';
export { listen } from './listen.js';
export type { ClientInfo, ClientListenOptions, ListenMessage, TokenProvider } from './options.js';
export type { Revision, Subscription } from './subscription.js';
export type { ChannelMember, ChannelReceiver, ListenChannel } from './transport/channel.js';
export type { SdkClient, SdkTransport } from './transport/sdk-channel.js';
export type { HttpTarget, ListenTarget, RequestFactory, RequestParts } from './transport/target.js';
export type { WatchHandler, WatchHandlers } from './watch/handlers.js';
export { type Watch, type WatchOptions, watch } from './watch/watch.js';
export type { WatchState } from './watch-state.js';
