import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { workerBundle } from '../../../scripts/build/build.mjs';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { call, callTool } from '../../host/call.ts';
import { type EventReader, streamEvents } from '../../host/events.ts';

vi.setConfig({ testTimeout: 20_000 });

let workerd: Workerd;
/** The edge that writes notes. */
let here: string;
/** The edge that receives events, in another isolate. */
let there: string;

beforeAll(async () => {
  workerd = await startWorkerd({
    bundle: workerBundle,
    edges: 2,
    text: { CONSOLE: 'on', NOTEBOOK_WRITE: 'on' },
  });
  [here = '', there = ''] = workerd.edges.map((origin) => `${origin}/mcp`);
}, 60_000);

afterAll(() => workerd?.stop());

interface Polled {
  cursor: string;
  events: { data: { name: string; length: number } }[];
}

async function poll(params: object): Promise<Polled> {
  const { result } = await call<Polled>(there, 'events/poll', { name: 'note.changed', ...params });
  return result as Polled;
}

async function write(name: string, text: string): Promise<void> {
  await callTool(here, 'edit_note', { name, text });
}

async function stream(params: object = {}, id: string | number = 1): Promise<EventReader> {
  return streamEvents(there, { name: 'note.changed', ...params }, id);
}

test('an event of one isolate can be polled in another', async () => {
  const { cursor } = await poll({});
  await write('poll', 'one');
  await write('other', 'two');
  const { events } = await poll({ cursor, arguments: { name: 'poll' } });
  expect(events).toMatchObject([{ data: { name: 'poll', length: 3 } }]);
  expect((await poll({ cursor })).events).toHaveLength(2);
});

test('streams in another isolate receive each event once, in order, with their id', async () => {
  const readers = await Promise.all([stream({}, 'a'), stream({ arguments: { name: 's2' } }, 2)]);
  for (const reader of readers) expect(await reader.next()).toMatchObject(ACTIVE);
  for (const name of ['s1', 's2', 's3']) await write(name, 'text');
  const [all, some] = readers;
  for (const name of ['s1', 's2', 's3'])
    expect(await all?.next()).toMatchObject(eventFor('a', name));
  expect(await some?.next()).toMatchObject(eventFor(2, 's2'));
  for (const reader of readers) reader.drop();
});

test('a stream resumes at its cursor, and receives the missed events', async () => {
  const first = await stream();
  const active = await first.next();
  first.drop();
  await write('missed', 'text');
  const second = await stream({ cursor: active?.params['cursor'] });
  expect(await second.next()).toMatchObject(ACTIVE);
  expect(await second.next()).toMatchObject(eventFor(1, 'missed'));
  await write('after', 'text');
  expect(await second.next()).toMatchObject(eventFor(1, 'after'));
  second.drop();
});

const ACTIVE = { method: 'notifications/events/active', params: { truncated: false } };

function eventFor(id: string | number, name: string): object {
  return {
    method: 'notifications/events/event',
    params: { data: { name }, _meta: { 'io.modelcontextprotocol/subscriptionId': id } },
  };
}
