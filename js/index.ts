/**
 * Live notifications for MCP servers: `subscriptions/listen` in front of any handler, on any bus.
 *
 * @packageDocumentation
 */

export type {
  AllowedFilter,
  Authorization,
  Authorize,
  AuthorizeContext,
  CallerContext,
  Denial,
} from './auth/authorize.js';
export type { AuthInfo, Identity } from './auth/identity.js';
export { isOpenStream } from './auth/open-stream.js';
export type { Principal, PrincipalResult } from './auth/principal.js';
export type { AttachableBus } from './bus/attachable-bus.js';
export type { Broker, BrokerListener } from './bus/broker/broker.js';
export {
  type BrokerBusOptions,
  brokerBus,
  type ProcessBus,
  type ProcessBusStats,
} from './bus/broker-bus.js';
export type { ListenBus, ServerEventBus } from './bus/bus.js';
export { InMemoryBus } from './bus/memory/bus.js';
export type { InMemoryBusOptions } from './bus/memory/options.js';
export type { Notifier, NotifyOptions } from './bus/notifier.js';
export type { Opening } from './bus/opening.js';
export type { CountedBus } from './bus/operator/operator.js';
export type { RetentionOptions } from './bus/retention.js';
export type { NewSession, SessionLimits, SessionStore } from './bus/session-store.js';
export type { WantedBus } from './bus/wanted/interest.js';
export type {
  HookContext,
  UnwantedContext,
  WantedContext,
  WantedOptions,
} from './bus/wanted/options.js';
export type { Topic } from './bus/wanted/topic.js';
export type { DeclaredServer, ListenCapabilities, ServerInfo } from './handler/discovery.js';
export type { McpFetch, McpHandler } from './handler/handler.js';
export { createProxy, type ProxyOptions } from './handler/proxy.js';
export { type Screen, type ScreenOptions, screen } from './http/screen.js';
export { createListenHandler } from './listen-handler.js';
export { ListenError, type ListenErrorCode } from './model/error.js';
export type { ChangeEvent, DisconnectEvent, GroupEvent, ServerEvent } from './model/event.js';
export type { SubscriptionFilter } from './model/filter.js';
export type { ListenLimits } from './model/limits.js';
export type { BusStats, ShardStats } from './model/stats/bus.js';
export type {
  EndReason,
  ListenStats,
  RefusalKind,
  WriteDelayCount,
} from './model/stats/listen.js';
export type {
  IsolateSnapshot,
  LoggedEvent,
  ObjectSnapshot,
  Snapshot,
  TopicListeners,
} from './model/stats/snapshot.js';
export type { TaskOutcome, TaskProgress, TaskState } from './model/task.js';
export type { ListenTimeouts } from './model/timeouts.js';
export {
  type AnalyticsDataset,
  type AnalyticsOptions,
  analyticsWriter,
} from './observe/analytics-engine.js';
export type { LoggedStream, StreamLogger, StreamLogRecord } from './observe/log.js';
export type { BusNumbers } from './observe/metric-families.js';
export {
  createMetricsHandler,
  type MetricsHandlerOptions,
  metricsText,
} from './observe/prometheus.js';
export type {
  PublishContext,
  RemoteSpan,
  SpanOptions,
  SpanTracer,
  TracedSpan,
} from './observe/tracing.js';
export {
  createOperatorHandler,
  type OperatedServer,
  type OperatorOptions,
} from './operator/operator-handler.js';
export type { Order, PublishedEvent } from './operator/orders.js';
export type { DrainOptions, LegacyMode, ListenHandler, ListenHandlerOptions } from './options.js';
export { type PublishChangesOptions, publishChanges } from './sdk/publish-changes.js';
export type { SdkServer } from './sdk/server-shape.js';
