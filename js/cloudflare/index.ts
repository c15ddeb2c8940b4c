/**
 * The bus for Cloudflare Workers: one Durable Object that every isolate publishes to and listens on, and
 * further ones where it holds more streams than one should.
 *
 * @packageDocumentation
 */
import '#runtime';

export type { BusName } from './bus-name.js';
export type { SubscriptionBusOptions } from './bus-options.js';
export type { BusWatcher, WatchedBus, WatcherMaker } from './bus-watcher.js';
export { type BusNamespace, type DurableObjectBusOptions, durableObjectBus } from './durable-object-bus.js';
export { type Gateway, type GatewayOptions, gateway } from './gateway.js';
export type { OnceOptions } from './once-table.js';
export { type PublishOptions, publishEndpoint } from './publish-endpoint.js';
export type { Publisher } from './publisher.js';
export type { BusStats } from './root-bus.js';
export type { ShardStats } from './root-shards.js';
export { SubscriptionBus } from './subscription-bus.js';
export { tenantSecret } from './tenant-secret.js';
