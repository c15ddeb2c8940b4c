/**
 * Live notifications for MCP servers: `subscriptions/listen` in front of any handler, on any bus.
 *
 * @packageDocumentation
 */
export { type AnalyticsDataset, type AnalyticsOptions, analyticsWriter } from './analytics.js';
export type { Asker, Authorization, Authorize, AuthorizeContext, Denial, Right } from './authorize.js';
export type { BusConnection, BusLink, Connected, EventFeed, ListenBus, ServerEventBus } from './bus/bus.js';
export type { LogOptions } from './bus/log-options.js';
export { InMemoryBus } from './bus/memory.js';
export type { ListenCapabilities } from './discover.js';
export { ListenError, type ListenErrorCode } from './error.js';
export type { AudienceEvent, ChangeEvent, RevokedEvent, ServerEvent } from './event.js';
export type { SubscriptionFilter } from './filter.js';
export { type FrontOptions, type Screen, screen } from './front.js';
export type { McpHandler } from './handler.js';
export type { StreamEnding } from './held-stream.js';
export { serveListen } from './http.js';
export type { NewSession, SessionLimits, SessionStore } from './legacy/session-store.js';
export type { ListenLimits } from './limits.js';
export type { Log, LoggedStream, LogRecord } from './log.js';
export { type MetricsOptions, metrics } from './metrics.js';
export { type BusNumbers, metricsText } from './metrics-text.js';
export type { Notifier, NotifyOptions } from './notify.js';
export type { ListenOptions, ListenServer } from './options.js';
export type { Asked, Principal, PrincipalAnswer } from './principal.js';
export { type ProxyOptions, proxyTo } from './proxy.js';
export { type PublishChangesOptions, publishChanges } from './publish-changes.js';
export type { RefusalKind } from './refusals.js';
export type { SdkServer } from './sdk-server.js';
export type { ListenStats, WrittenWithin } from './streams.js';
export type { TaskState } from './task.js';
export type { RemoteSpan } from './traceparent.js';
export type { PublishContext, SpanOptions, SpanTracer, TracedSpan } from './tracing.js';
