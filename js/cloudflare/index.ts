/**
 * The bus for Cloudflare Workers: one Durable Object that every isolate publishes to and listens on, and
 * further ones where it holds more streams than one should.
 *
 * @packageDocumentation
 */
import '#runtime';

export type { SubscriptionBusOptions } from './bus-options.js';
export { type BusNamespace, type DurableObjectBusOptions, durableObjectBus } from './durable-object-bus.js';
export type { BusStats } from './root-bus.js';
export type { ShardStats } from './root-shards.js';
export { SubscriptionBus } from './subscription-bus.js';
