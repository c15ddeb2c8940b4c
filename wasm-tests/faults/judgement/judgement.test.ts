import { expect, test } from 'vitest';
import type { Result, Scenario } from '../scenario.ts';
import { violationsOf } from './judgement.ts';

const SCENARIO: Scenario = {
  name: 'a fault',
  promise: 'P1, P6',
  streams: 1_000,
  run: async () => {},
};
const LEFT = { attached: 0, sockets: 0, streams: 0, timers: 0, tunnels: 0, descriptors: 0 };
const CALM = { median: 50, p99: 100, max: 150 };
const WELL: Omit<Result, 'violations'> = {
  ...{ name: 'a fault', promise: 'P1, P6', sockets: 'auto: 2', attached: 2 },
  ...{ requested: 1_000, opens: 0, streams: 1_000 },
  ...{ open: 1_000, ended: 0, refusals: {}, passed: 0, taken: 100, refused: 0, refusedLater: 0 },
  ...{
    missing: 0,
    early: 0,
    foreign: 0,
    inversions: 0,
    left: LEFT,
    reasons: [],
    seconds: 1,
    machineMs: 0,
    isWhole: false,
  },
  ...{ heal: { median: 2_000, p99: 4_000, max: 9_000 }, calm: CALM },
};

test('a run that keeps all promises has no violation', () => {
  expect(violationsOf(SCENARIO, WELL)).toEqual([]);
});

test.each<[string, Partial<Result>, string[]]>([
  [
    'streams refused at the start',
    { streams: 951, refusals: { 503: 49 } },
    ['acknowledged: 951 of 1000', 'refused streams: 49 x 503'],
  ],
  ['one 5xx', { refusals: { 500: 1 } }, ['refused streams: 1 x 500']],
  ['one stream that ends', { open: 999, ended: 1 }, ['ended without cause: 1']],
  ['one publish refused', { refused: 1 }, ['refused publishes: 1']],
  ['one socket left', { left: { ...LEFT, descriptors: 1 } }, ['descriptors: 1']],
  [
    'a late median',
    { heal: { median: 2_051, p99: 3_000, max: 3_000 } },
    ['median back after 2051 ms, bound 2050 ms'],
  ],
  [
    'a late p99',
    { heal: { median: 1, p99: 4_101, max: 4_200 } },
    ['p99 back after 4101 ms, bound 4100 ms'],
  ],
])('%s is a violation', (_what, result, violations) => {
  expect(violationsOf(SCENARIO, { ...WELL, ...result })).toEqual(violations);
});

test('times without a measurement before the fault are a violation', () => {
  const { calm: _, ...result } = WELL;
  expect(violationsOf(SCENARIO, result)).toEqual([
    'times not judged: no measurement before the fault',
  ]);
});

test('a scenario may allow a number of ends, and refused publishes during the fault', () => {
  const ends = { most: () => 500, why: 'half of the streams are at the killed edge' };
  const scenario = { ...SCENARIO, ends, losesPublishes: 'the bus is unavailable' };
  expect(violationsOf(scenario, { ...WELL, ended: 500, refused: 300 })).toEqual([]);
  expect(violationsOf(scenario, { ...WELL, ended: 501, refused: 300, refusedLater: 2 })).toEqual([
    'publishes refused after the fault: 2',
    'ended without cause: 501',
  ]);
});

test('streams that do not share a connection are a violation, unless they are not meant to', () => {
  const unshared = { ...WELL, attached: 5 };
  expect(violationsOf(SCENARIO, { ...WELL, attached: 4 })).toEqual([]);
  expect(violationsOf(SCENARIO, unshared)).toEqual(['connections to the bus: 5']);
  expect(violationsOf({ ...SCENARIO, world: { sockets: 'each' } }, unshared)).toEqual([]);
  expect(violationsOf({ ...SCENARIO, world: { refusesCrossing: true } }, unshared)).toEqual([]);
});

test('an allowance counts the streams that the fault itself opens', () => {
  const ends = { most: (streams: number) => streams, why: 'a drain ends each stream once' };
  const drained = { ...WELL, requested: 0, opens: 200 };
  expect(violationsOf({ ...SCENARIO, ends }, { ...drained, ended: 200 })).toEqual([]);
  expect(violationsOf({ ...SCENARIO, ends }, { ...drained, ended: 201 })).toEqual([
    'ended without cause: 201',
  ]);
});

test('a scenario may allow a number of refusals with 503, and none with another status', () => {
  const refusals = { most: (streams: number) => streams / 50, why: 'requests are lost' };
  const scenario = { ...SCENARIO, refusals };
  expect(violationsOf(scenario, { ...WELL, refusals: { 503: 20 } })).toEqual([]);
  expect(violationsOf(scenario, { ...WELL, refusals: { 503: 21 } })).toEqual([
    'refused streams: 21 x 503',
  ]);
  expect(violationsOf(scenario, { ...WELL, refusals: { 500: 1 } })).toEqual([
    'refused streams: 1 x 500',
  ]);
});

test('the time without a processor raises both bounds beside other lanes', () => {
  const heal = { median: 2_060, p99: 4_110, max: 4_110 };
  expect(violationsOf(SCENARIO, { ...WELL, heal })).toHaveLength(2);
  expect(violationsOf(SCENARIO, { ...WELL, heal, machineMs: 10 })).toEqual([]);
});

test('nothing raises the bounds of the whole set, however busy the machine is', () => {
  const busy = { machineMs: 30_000, calm: { median: 9_000, p99: 9_000, max: 9_000 } };
  const heal = { median: 2_000, p99: 4_000, max: 9_000 };
  const whole = { ...WELL, ...busy, heal, isWhole: true };
  expect(violationsOf(SCENARIO, whole)).toEqual([]);
  expect(violationsOf(SCENARIO, { ...whole, heal: { ...heal, median: 2_001 } })).toEqual([
    'median back after 2001 ms, bound 2000 ms',
  ]);
  expect(violationsOf(SCENARIO, { ...whole, heal: { ...heal, p99: 4_001 } })).toEqual([
    'p99 back after 4001 ms, bound 4000 ms',
  ]);
});

test('beside other lanes a machine raises the bounds by three seconds at most', () => {
  const busy = { ...WELL, machineMs: 30_000, calm: { median: 9_000, p99: 9_000, max: 9_000 } };
  const heal = { median: 5_000, p99: 7_000, max: 20_000 };
  expect(violationsOf(SCENARIO, { ...busy, heal })).toEqual([]);
  expect(violationsOf(SCENARIO, { ...busy, heal: { ...heal, median: 5_001 } })).toEqual([
    'median back after 5001 ms, bound 5000 ms',
  ]);
  expect(violationsOf(SCENARIO, { ...busy, heal: { ...heal, p99: 7_001 } })).toEqual([
    'p99 back after 7001 ms, bound 7000 ms',
  ]);
});

test('a documented ceiling raises both bounds', () => {
  const ceiling = { ms: 1_000, why: 'an attempt without a reply fails after attachMs' };
  const heal = { median: 3_050, p99: 5_100, max: 5_100 };
  expect(violationsOf({ ...SCENARIO, ceiling }, { ...WELL, heal })).toEqual([]);
  expect(violationsOf(SCENARIO, { ...WELL, heal })).toHaveLength(2);
});

test('only a documented ceiling raises the bounds of the whole set', () => {
  const ceiling = { ms: 1_000, why: 'an attempt without a reply fails after attachMs' };
  const heal = { median: 3_000, p99: 5_000, max: 5_000 };
  expect(violationsOf({ ...SCENARIO, ceiling }, { ...WELL, heal, isWhole: true })).toEqual([]);
  expect(violationsOf(SCENARIO, { ...WELL, heal, isWhole: true })).toHaveLength(2);
});
