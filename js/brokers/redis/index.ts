/**
 * A bus over Redis. It uses the client `redis` or `ioredis`.
 *
 * @packageDocumentation
 */
import '#runtime';

export type { ProcessBus, ProcessBusOptions, ProcessBusStats } from '../../bus/broker-bus.js';
export type { IoRedisClient } from './ioredis.js';
export type { NodeRedisClient } from './node-redis.js';
export { type RedisClient, redisBus } from './redis-bus.js';
