import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorkerd, type Workerd } from '../../../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../../host/bundle.ts';
import { LegacySession } from '../../../host/legacy.ts';

let workerd: Workerd;

beforeAll(async () => {
  workerd = await startWorkerd({
    bundle: await bundleWorker('wasm-tests/workerd/attacks/routed'),
    durableObjects: [
      { binding: 'MCP_BUS', className: 'RoutedBus' },
      { binding: 'IDLE', className: 'Idle' },
    ],
    compatibilityFlags: ['nodejs_compat'],
  });
});

afterAll(() => workerd?.stop());

test('session ids that are made up never reach the bus object', async () => {
  for (const id of ['nonsense', randomUUID()]) expect(await status('GET', id)).toBe(404);
  expect(await calls()).toEqual({});
  const session = await LegacySession.begin(via('mcp'));
  const [random = '', mac = ''] = session.id.split('.');
  const other = await LegacySession.begin(via('other'));
  await calls();
  const forged = [
    'nonsense',
    random,
    `${random}.`,
    `${random}.${mac.slice(1)}`,
    `${random}.${'0'.repeat(mac.length)}`,
    `${randomUUID()}.${mac}`,
    `${session.id}.${mac}`,
    session.id.toUpperCase(),
    // Of another bus.
    other.id,
    ...Array.from({ length: 100 }, () => `${randomUUID()}.${mac}`),
  ];
  for (const id of forged) {
    for (const method of ['POST', 'GET', 'DELETE']) expect(await status(method, id)).toBe(404);
  }
  // At most once in ten seconds it is asked whether the object has another key.
  const { connectionKey = 0, ...others } = await calls();
  expect(others).toEqual({});
  expect(connectionKey).toBeLessThanOrEqual(2);
});

test('an id of the bus object is known in an isolate that has never asked for its key', async () => {
  const session = await LegacySession.begin(via('mcp'));
  expect(
    await session.via((init) => fetch(`${workerd.edges[1]}/mcp`, init)).ask('ping'),
  ).toMatchObject({ result: {} });
});

test('an id is taken that was made with a key that the isolate has yet to hear of', async () => {
  const [first, second] = [
    via('lost'),
    (init: RequestInit) => fetch(`${workerd.edges[1]}/lost`, init),
  ];
  for (const send of [first, second]) await LegacySession.begin(send);
  // The storage of the object is gone, with its key and its sessions.
  await fetch(`${workerd.edges[0]}/wipe/lost`);
  const session = await LegacySession.begin(first);
  for (const send of [first, second]) {
    const again = async () =>
      (await session.via(send).post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status;
    await expect.poll(again, { interval: 1_000 }).toBe(200);
  }
});

function via(path: string): (init: RequestInit) => Promise<Response> {
  return (init) => fetch(`${workerd.edges[0]}/${path}`, init);
}

async function status(method: string, id: string): Promise<number> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-session-id': id,
    'mcp-protocol-version': '2025-11-25',
  };
  const body = method === 'POST' ? '{"jsonrpc":"2.0","id":1,"method":"ping"}' : null;
  const answer = await via('mcp')({ method, headers, body });
  await answer.body?.cancel();
  return answer.status;
}

/** How often each method of the object was called by the isolate since this was asked. */
async function calls(): Promise<Record<string, number>> {
  return (await (await via('calls?clear')({})).json()) as Record<string, number>;
}
