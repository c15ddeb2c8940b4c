/**
 * A bus over NATS. It uses the clients `@nats-io/transport-node` and `@nats-io/jetstream`.
 *
 * @packageDocumentation
 */
import '#runtime';

export type { ProcessBus, ProcessBusOptions, ProcessBusStats } from '../../bus/broker-bus.js';
export { type NatsBusOptions, natsBus } from './nats-bus.js';
