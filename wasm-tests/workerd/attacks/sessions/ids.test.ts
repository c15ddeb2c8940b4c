import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Workerd } from '../../../../scripts/workerd/workerd.mjs';
import { LegacySession } from '../../../host/legacy.ts';
import { callsOf, startRouted } from '../../../host/servers/routed.ts';

let workerd: Workerd;

beforeAll(async () => {
  workerd = await startRouted();
});

afterAll(() => workerd?.stop());

test('forged session ids do not reach the bus object', async () => {
  for (const id of ['nonsense', randomUUID()]) expect(await status('GET', id)).toBe(404);
  expect(await callsOf(workerd.edges[0])).toEqual({});
  const session = await LegacySession.begin(via('mcp'));
  const [random = '', mac = ''] = session.id.split('.');
  const other = await LegacySession.begin(via('other'));
  await callsOf(workerd.edges[0]);
  const forged = [
    'nonsense',
    random,
    `${random}.`,
    `${random}.${mac.slice(1)}`,
    `${random}.${'0'.repeat(mac.length)}`,
    `${randomUUID()}.${mac}`,
    `${session.id}.${mac}`,
    session.id.toUpperCase(),
    // A session of another bus.
    other.id,
    ...Array.from({ length: 100 }, () => `${randomUUID()}.${mac}`),
  ];
  const begun = performance.now();
  for (const id of forged) {
    for (const method of ['POST', 'GET', 'DELETE']) expect(await status(method, id)).toBe(404);
  }
  // The edge gets the key of the object at most once in ten seconds.
  const most = 1 + Math.ceil((performance.now() - begun) / 10_000);
  const { connectionKey = 0, ...others } = await callsOf(workerd.edges[0]);
  expect(others).toEqual({});
  expect(connectionKey).toBeLessThanOrEqual(most);
});

test('a session id is valid in an isolate that does not have the key yet', async () => {
  const session = await LegacySession.begin(via('mcp'));
  expect(
    await session.via((init) => fetch(`${workerd.edges[1]}/mcp`, init)).ask('ping'),
  ).toMatchObject({ result: {} });
});

test('a session id of a new key is valid in an isolate with the former key', async () => {
  const [first, second] = [
    via('lost'),
    (init: RequestInit) => fetch(`${workerd.edges[1]}/lost`, init),
  ];
  for (const send of [first, second]) await LegacySession.begin(send);
  // Deletes the storage of the object, with its key and its sessions.
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
  const response = await via('mcp')({ method, headers, body });
  await response.body?.cancel();
  return response.status;
}
