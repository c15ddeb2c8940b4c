import {
  CLOSES,
  DROPS,
  EVERY,
  LOSES_NOTHING,
  REPLAYS,
  REPORTS,
  SURVIVES,
} from '../../dist/testing/promises.js';
import { promisesOf } from '../host/bus/promises.ts';
import { channelRig, memoryRig, natsRig, redisRig } from './rigs.ts';

promisesOf('InMemoryBus', memoryRig, EVERY);
promisesOf('broadcastChannelBus', channelRig, [...EVERY, DROPS, CLOSES]);
promisesOf('redisBus', redisRig, [...EVERY, DROPS, REPLAYS, SURVIVES, LOSES_NOTHING, CLOSES]);
promisesOf('natsBus with JetStream', () => natsRig(true), [
  ...EVERY,
  DROPS,
  REPLAYS,
  SURVIVES,
  LOSES_NOTHING,
  CLOSES,
]);
promisesOf('natsBus without JetStream', () => natsRig(false), [
  ...EVERY,
  DROPS,
  REPORTS,
  SURVIVES,
  LOSES_NOTHING,
  CLOSES,
]);
