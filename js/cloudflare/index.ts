/**
 * The bus for Cloudflare Workers: one Durable Object that every isolate publishes to and receives
 * events from, and shards, which are further objects, when it has more streams than one object
 * should hold.
 *
 * @packageDocumentation
 */
import '#runtime';

export type { CountedBus } from '../bus/operator/operator.js';
export type { BusStats, ShardStats } from '../model/stats/bus.js';
export { type DurableObjectBusOptions, durableObjectBus } from './edge/durable-object-bus.js';
export { createGateway, type Gateway, type GatewayOptions } from './gateway/gateway.js';
export type { BusWatcher, WatchedBus, WatcherMaker } from './object/bus/watcher.js';
export type { SubscriptionBusOptions } from './object/options.js';
export { SubscriptionBus } from './object/subscription-bus.js';
export type { IdempotencyOptions } from './object/tables/idempotency-keys.js';
export {
  createPublishHandler,
  type PublishersOfBus,
  type PublishHandlerOptions,
} from './publish/endpoint.js';
export type { PublishedKind, Publisher } from './publish/publisher.js';
export { tenantSecret } from './publish/tenant-secret.js';
export {
  type ListenTenant,
  type RouteListenOptions,
  routeListenRequest,
} from './route/route-listen-request.js';
export type { BusName } from './wire/names.js';
export type { IdempotencyKey, PublishedAt } from './wire/publish.js';
export type { RefusedEvent } from './wire/refused-event.js';
export type { BusNamespace } from './wire/stubs.js';
