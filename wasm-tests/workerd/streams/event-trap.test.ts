import type { ListenStats } from 'mcp-listen';
import { expect, onTestFinished, test } from 'vitest';
import { startWorkerd } from '../../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../host/bundle.ts';
import { type EventReader, streamEvents } from '../../host/events.ts';
import { acknowledged, listen } from '../../host/listen.ts';
import { longestWait, waitsOf } from '../../host/processor.ts';

const ACTIVE = { method: 'notifications/events/active' };

function eventOf(topic: string): object {
  return { method: 'notifications/events/event', params: { data: { topic } } };
}

async function open(origin: string): Promise<EventReader> {
  const reader = await streamEvents(`${origin}/mcp`, { name: 'noted' });
  expect(await reader.next()).toMatchObject(ACTIVE);
  return reader;
}

/** Returns when a stream ended, without a result. */
async function endOf(reader: EventReader): Promise<number> {
  expect(await reader.next()).toBeUndefined();
  return performance.now();
}

test('streams of events end after a trap in their isolate, one after the other, and no others', async () => {
  const workerd = await startWorkerd({
    bundle: await bundleWorker('wasm-tests/workerd/fixture/webhooks'),
    durableObjects: [{ binding: 'MCP_BUS', className: 'HookBus' }],
    edges: 2,
  });
  onTestFinished(() => workerd.stop());
  const [here = '', there = ''] = workerd.edges;
  const publish = (topic: string) =>
    fetch(`${there}/notify`, { method: 'POST', body: JSON.stringify(['noted', topic]) });
  const streams = await Promise.all(Array.from({ length: 12 }, () => open(here)));
  const [other, cued] = [await open(there), await listen(`${here}/mcp`, TYPES)];
  expect(await cued.message()).toBe(acknowledged('1', TYPES));
  const waits = () => waitsOf([process.pid, workerd.pid]);
  const before = await waits();
  const ending = Promise.all(streams.map(endOf));
  await fetch(`${here}/poison`);
  await publish('first');
  expect(await other.next()).toMatchObject(eventOf('first'));
  const next = await open(here);
  const ends = await ending;
  // Ends that were due while a process had no processor come together.
  const machineMs = longestWait(before, await waits());
  expect(Math.max(...ends) - Math.min(...ends) + machineMs).toBeGreaterThan(500);
  const stats = (await (await fetch(`${here}/stats`)).json()) as ListenStats;
  expect(stats).toMatchObject({ open: 2, ended: { aborted: 0, trapped: 12 } });
  await publish('second');
  for (const reader of [next, other]) expect(await reader.next()).toMatchObject(eventOf('second'));
  for (const reader of [next, other, cued]) reader.drop();
}, 60_000);

const TYPES = { eventsListChanged: true };
