import type { Scenario } from '../scenario.ts';
import { BUS_OBJECT } from './bus-object.ts';
import { BUS_PROCESS } from './bus-process.ts';
import { CLIENTS } from './clients.ts';
import { EACH } from './each.ts';
import { LOAD } from './load.ts';
import { OWNER } from './owner.ts';
import { RACES } from './races.ts';
import { SHARDS } from './shards.ts';
import { STORMS } from './storm.ts';
import { WIRE } from './wire.ts';

/** All scenarios. */
export const SCENARIOS: Scenario[] = [
  ...BUS_PROCESS,
  ...BUS_OBJECT,
  ...SHARDS,
  ...WIRE,
  ...CLIENTS,
  ...OWNER,
  ...EACH,
  ...RACES,
  ...STORMS,
  ...LOAD,
];
