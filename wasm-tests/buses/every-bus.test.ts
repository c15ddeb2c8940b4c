import {
  CLOSES,
  DROPS,
  EVERY,
  LOSES_NOTHING,
  REPLAYS,
  REPORTS,
  SURVIVES,
} from '../../dist/testing/promises.js';
import { testBus } from '../host/bus/promises.ts';
import { channelRig, memoryRig, natsRig, redisRig, valkeyRig } from './brokers/rigs.ts';

testBus('InMemoryBus', memoryRig, EVERY);
testBus('broadcastChannelBus', channelRig, [...EVERY, DROPS, CLOSES]);
testBus('redisBus', redisRig, [...EVERY, DROPS, REPLAYS, SURVIVES, LOSES_NOTHING, CLOSES]);
testBus('redisBus with ioredis, on Valkey', valkeyRig, [
  ...EVERY,
  DROPS,
  REPLAYS,
  SURVIVES,
  LOSES_NOTHING,
  CLOSES,
]);
testBus('natsBus with JetStream', () => natsRig(true), [
  ...EVERY,
  DROPS,
  REPLAYS,
  SURVIVES,
  LOSES_NOTHING,
  CLOSES,
]);
testBus('natsBus without JetStream', () => natsRig(false), [
  ...EVERY,
  DROPS,
  REPORTS,
  SURVIVES,
  LOSES_NOTHING,
  CLOSES,
]);
