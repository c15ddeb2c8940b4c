import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { workerBundle } from '../../../scripts/build/build.mjs';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { call, callRequest, callTool } from '../../host/call.ts';
import { endpoint } from '../../host/endpoint.ts';
import { type EventReader, streamEvents } from '../../host/events.ts';
import { startDeployed } from '../../host/servers/deployed.ts';
import { HOOK_SECRET } from '../../host/webhook.ts';

vi.setConfig({ testTimeout: 40_000 });

let workerd: Workerd;
/** The edge that writes notes. */
let here: string;
/** The edge that receives events, in another isolate. */
let there: string;

beforeAll(async () => {
  workerd = await startWorkerd({
    bundle: workerBundle,
    edges: 2,
    text: { CONSOLE: 'on', DEMO_CALLERS: 'on', NOTEBOOK_WRITE: 'on' },
    reachesLocal: true,
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

test('a bearer token names a caller, whose webhook on this machine is called', async () => {
  const hook = await endpoint(HOOK_SECRET);
  const delivery = { mode: 'webhook', url: hook.url, secret: HOOK_SECRET };
  const request = callRequest(there, 'events/subscribe', { name: 'note.changed', delivery });
  request.headers.set('authorization', 'Bearer ada');
  expect(await (await fetch(request)).json()).toMatchObject({ result: { truncated: false } });
  await write('called', 'back');
  await expect.poll(() => hook.events).toHaveLength(1);
  expect(hook.events[0]).toMatchObject({
    signers: [HOOK_SECRET],
    body: { name: 'note.changed', data: { name: 'called', length: 4 } },
  });
});

test('a deployment names no callers, and offers no webhooks', async () => {
  const [origin] = (await startDeployed()).edges;
  const { result } = await call(`${origin}/mcp`, 'events/list');
  expect(result).toMatchObject({ events: [{ name: 'note.changed', delivery: ['poll', 'push'] }] });
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
