import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { limitsOf } from '../../../dist/model/limits.js';
import { sessionLimits } from '../../../dist/sessions/limits.js';
import type { Workerd } from '../../../scripts/workerd/workerd.mjs';
import { heapOf } from '../../faults/judgement/heap.ts';
import { Fixture } from '../../host/fixture/fixture.ts';
import { startFixture } from '../../host/fixture/start.ts';
import { initialize, post } from '../../host/legacy.ts';
import { LISTEN_HEADERS, listenBody, updated, type WireStream } from '../../host/listen.ts';

let workerd: Workerd;
let fixture: Fixture;
/** The open streams: a client that forgets a response drops it. */
const opened: Response[] = [];
beforeEach(async () => {
  const text = { KEEP_ALIVE_MS: '15000' };
  const bundle = inject('fixtureBundle');
  workerd = await startFixture({ bundle, edges: 2, text, inspected: true });
  fixture = new Fixture(workerd);
});
afterEach(async () => {
  await workerd?.stop();
  opened.length = 0;
});

test('an edge whose streams and names reach their limits stays below 100 MB, and so does its bus', async () => {
  const small = await fixture.open(0, NOTE);
  await fill();
  expect((await fixture.stats(0)).open).toBe(STREAMS);
  await expectMemory('edge-0');
  await expectMemory('bus');
  await publishTo(small);
}, 240_000);

test('a bus with 10,000 sessions, whose resources use their whole budget, stays below 100 MB', async () => {
  const limits = sessionLimits(limitsOf(), true);
  expect(await call('fillSessions', limits, LARGE)).toEqual([
    limits.sessions,
    `{"full":{"bytes":${limits.busUriBytes}}}`,
  ]);
  const refused = await post(fixture.via(0, { 'x-user': 'late' }), initialize('2025-11-25'));
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.any(String)]);
  await expectMemory('bus');
}, 120_000);

test('opening and dropping a hundred large streams a second leaves edge and bus below 100 MB', async () => {
  const small = await fixture.open(0, NOTE);
  const statuses: number[] = [];
  const opens = (): number => statuses.filter((status) => status === 200).length;
  const changes: Promise<void>[] = [];
  // On a busy machine the bus replies too late to some.
  for (let number = 0; number < CHANGES || (opens() < OPENS && number < MAX_CHANGES); number += 1) {
    changes.push(openAndDrop(number, statuses));
    await setTimeout(1_000 / A_SECOND);
  }
  await Promise.all(changes);
  expect(opens()).toBeGreaterThanOrEqual(OPENS);
  expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
  await expectMemory('edge-0');
  await expectMemory('bus');
  await publishTo(small);
}, 240_000);

async function publishTo(stream: WireStream): Promise<void> {
  await fixture.publish(1, { kind: 'resource_updated', uri: 'note://a' });
  expect(await stream.message()).toBe(updated('1', 'note://a'));
}

/**
 * Opens large streams at the first edge until one is refused, then streams of one URI until all
 * are, as large as what is kept for each stream.
 */
async function fill(): Promise<void> {
  let first = 0;
  while ((await openSome(first, LARGE)) === TOGETHER) first += TOGETHER;
  // On a busy machine the bus may reply too late to a whole batch.
  for (let refusals = 0; refusals < 3; ) {
    first += TOGETHER;
    refusals = (await openSome(first, 1)) > 0 ? 0 : refusals + 1;
  }
}

/** Opens streams with so many URIs at the first edge; resolves with how many were not refused. */
async function openSome(first: number, uris: number): Promise<number> {
  const numbers = Array.from({ length: TOGETHER }, (_, place) => first + place);
  const responses = await Promise.all(numbers.map((each) => openStream(each, uris)));
  opened.push(...responses);
  const refused = responses.filter(({ status }) => status !== 200);
  for (const { body, headers, status } of refused) {
    expect([status, headers.get('retry-after')]).toEqual([503, '2']);
    await body?.cancel();
  }
  return TOGETHER - refused.length;
}

/** Opens a large stream for a while, if it is not refused. */
async function openAndDrop(number: number, statuses: number[]): Promise<void> {
  const { body, status } = await openStream(number, LARGE);
  statuses.push(status);
  if (status === 200) await setTimeout(OPEN_MS);
  await body?.cancel();
}

/** Opens a stream whose URIs no other stream has, at the first edge. */
function openStream(number: number, uris: number): Promise<Response> {
  const names = Array.from({ length: uris }, (_, place) => uriOf(number, place));
  const headers = { ...LISTEN_HEADERS, 'x-user': callerOf(number) };
  const body = listenBody({ resourceSubscriptions: names });
  return fetch(fixture.mcp(0), { method: 'POST', headers, body });
}

async function call<T>(...call: unknown[]): Promise<T> {
  return (await (await fixture.post(1, '/bus/call', JSON.stringify(call))).json()) as T;
}

/** The heap of an isolate and its WebAssembly memory stay below the limit together. */
async function expectMemory(service: 'edge-0' | 'bus'): Promise<void> {
  const wake = () => (service === 'bus' ? fixture.bus('stats') : fixture.stats(0));
  const heap = await heapOf(workerd.inspector, wake, service);
  const core = await coreOf(service);
  expect(heap + core, service).toBeLessThan(MAX_BYTES);
}

async function coreOf(service: 'edge-0' | 'bus'): Promise<number> {
  if (service === 'bus') return (await fixture.bus<{ core: number }>('measures')).core;
  return fixture.ask<number>(0, {}, 'core-bytes');
}

function callerOf(number: number): string {
  return `caller-${Math.floor(number / 16)}`;
}

function uriOf(number: number, place: number): string {
  return `note://${number}/${place}/`.padEnd(URI_BYTES, 'x');
}

const NOTE = { resourceSubscriptions: ['note://a'] };
const MAX_BYTES = 100e6;
/** The default of `maxSubscriptions`. */
const STREAMS = 4_000;
/** The URIs of a stream whose request is nearly as large as it may be. */
const LARGE = 32;
/** With the name of its caller, a stream of one URI has less than what is kept for each stream. */
const URI_BYTES = 1_900;
const TOGETHER = 50;
const A_SECOND = 100;
/** Ten seconds of them. */
const CHANGES = 1_000;
/** At least so many open. */
const OPENS = 500;
const MAX_CHANGES = 6_000;
/** Milliseconds that each stays open: about ten are open at a time. */
const OPEN_MS = 100;
