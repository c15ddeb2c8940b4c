import {
  CLOSES,
  DROPS,
  EVERY,
  LOSES_NOTHING,
  REPLAYS,
  REPORTS,
  SURVIVES,
} from '../../dist/testing/promises.js';
import { testBusPromises } from '../host/bus/promises.ts';
import { channelRig, memoryRig, natsRig, redisRig, valkeyRig } from './brokers/rigs.ts';

testBusPromises('InMemoryBus', memoryRig, EVERY);
testBusPromises('broadcastChannelBus', channelRig, [...EVERY, DROPS, CLOSES]);
testBusPromises('redisBus', redisRig, [...EVERY, DROPS, REPLAYS, SURVIVES, LOSES_NOTHING, CLOSES]);
testBusPromises('redisBus with ioredis, on Valkey', valkeyRig, [
  ...EVERY,
  DROPS,
  REPLAYS,
  SURVIVES,
  LOSES_NOTHING,
  CLOSES,
]);
testBusPromises('natsBus with JetStream', () => natsRig(true), [
  ...EVERY,
  DROPS,
  REPLAYS,
  SURVIVES,
  LOSES_NOTHING,
  CLOSES,
]);
testBusPromises('natsBus without JetStream', () => natsRig(false), [
  ...EVERY,
  DROPS,
  REPORTS,
  SURVIVES,
  LOSES_NOTHING,
  CLOSES,
]);
