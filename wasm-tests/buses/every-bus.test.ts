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

/** What a bus promises whose broker keeps a log. */
const WITH_LOG = [...EVERY, DROPS, REPLAYS, SURVIVES, LOSES_NOTHING, CLOSES];

testBus('InMemoryBus', memoryRig, EVERY);
testBus('broadcastChannelBus', channelRig, [...EVERY, DROPS, CLOSES]);
testBus('redisBus', redisRig, WITH_LOG);
testBus('redisBus with ioredis, on Valkey', valkeyRig, WITH_LOG);
testBus('natsBus with JetStream', () => natsRig(true), WITH_LOG);
testBus('natsBus without JetStream', () => natsRig(false), [
  ...EVERY,
  DROPS,
  REPORTS,
  SURVIVES,
  LOSES_NOTHING,
  CLOSES,
]);
