/**
 * The bus for Cloudflare Workers: one Durable Object that every isolate publishes to and listens on.
 *
 * @packageDocumentation
 */
export { type BusNamespace, type DurableObjectBusOptions, durableObjectBus } from './durable-object-bus.js';
export { type BusStats, SubscriptionBus, type SubscriptionBusOptions } from './subscription-bus.js';
