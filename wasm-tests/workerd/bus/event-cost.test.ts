import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { type CountedEvents, EventExample } from '../../../bench/cost/events.ts';
import { settled } from '../../../bench/cost/settled.ts';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../host/bundle.ts';
import { call } from '../../host/call.ts';

const SIZES = { events: 2, streams: 8, webhooks: 3 };
let counted: CountedEvents;

beforeAll(async () => {
  counted = await EventExample.run(SIZES);
}, 60_000);

test('an event is one request, and three rows: its cue, its payload, and its name', () => {
  const { alone } = counted;
  expect(alone).toMatchObject({ calls: 1, rowsWritten: 3, alarms: 0, messages: 0, upgrades: 0 });
});

test('each isolate with streams of an event reads it once, however many streams it has', () => {
  const { streams } = counted;
  expect(streams).toMatchObject({ calls: 1 + 4, rowsWritten: 3, alarms: 0, messages: 0 });
});

test('an object that delivers an event to webhooks is called once, and reads it once', () => {
  const { webhooks } = counted;
  expect(webhooks.calls).toBe(3);
  expect(webhooks.rowsWritten).toBeLessThanOrEqual(12);
  expect(webhooks.messages).toBe(0);
});

test('a poll with maxAgeMs at the end of the log reads no more rows when the log is long', async () => {
  const workerd = await startWorkerd({
    bundle: await bundleWorker('bench/workers/cost'),
    edges: 1,
    durableObjects: [{ binding: 'COST_BUS', className: 'CountedBus' }],
    text: { SOCKETS: 'auto', EDGES_PER_SHARD: '32768' },
  });
  onTestFinished(() => workerd.kill());
  const origin = workerd.edges[0] ?? '';
  await publish(origin, 1);
  const few = await rowsOfPoll(workerd);
  for (let batch = 0; batch < 40; batch += 1) await publish(origin, 25);
  expect(await rowsOfPoll(workerd)).toBeLessThan(few + 10);
}, 60_000);

interface Polled {
  cursor: string;
  events: unknown[];
}

/** Publishes occurrences together. */
async function publish(origin: string, count: number): Promise<void> {
  const emit = async () => (await fetch(`${origin}/emit`, { method: 'POST', body: 'acme' })).json();
  await Promise.all(Array.from({ length: count }, emit));
}

async function poll(origin: string, params: object = {}): Promise<Polled> {
  const all = { name: 'order.paid', ...params };
  const { error, result } = await call<Polled>(`${origin}/events`, 'events/poll', all);
  if (result === undefined) throw new Error(JSON.stringify(error));
  return result;
}

/** The rows that a poll at the end of the log reads, long after the last occurrence. */
async function rowsOfPoll({ bus, edges }: Workerd): Promise<number> {
  const origin = edges[0] ?? '';
  const { cursor } = await poll(origin);
  const before = await settled(bus, QUIET_MS);
  expect(await poll(origin, { cursor, maxAgeMs: 1 })).toMatchObject({ events: [] });
  return (await settled(bus, QUIET_MS)).rowsRead - before.rowsRead;
}

/** Without webhooks there are no timers and no alarms. */
const QUIET_MS = 300;
