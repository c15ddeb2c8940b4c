import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Workerd } from '../../../scripts/workerd/workerd.mjs';
import { acknowledged, listChanged, listen } from '../../host/listen.ts';
import { callsOf, startRouted } from '../../host/servers/routed.ts';
import { openWebSocket, upgradeStatus } from '../../host/wire/upgrade.ts';

const ROOT = 'mcp-listen';
const SHARD = 'mcp-listen/shard-1';
const TOOLS = { kind: 'tools_list_changed' };
/** The header fields of edges without a key, and with a wrong key. */
const BARE = { 'mcp-listen-wire': '3' };
const WRONG = { ...BARE, 'mcp-listen-key': 'f'.repeat(64) };
const CROWDED = { ...BARE, 'mcp-listen-continent': 'EU', 'mcp-listen-full': 'mcp-listen/shard-1' };
let workerd: Workerd;
let disk: string;

beforeAll(async () => {
  disk = await mkdtemp(join(tmpdir(), 'mcp-listen-disk-'));
  workerd = await startRouted(disk);
});

afterAll(async () => {
  await workerd?.stop();
  await rm(disk, { recursive: true, force: true });
});

describe.each([
  ['routeAgentRequest', 'agents/mcp-bus'],
  ['a router that forwards the raw request', 'raw'],
  ['a router that copies the header fields', 'copied'],
])('through %s', (_name, route) => {
  test.each([
    ['root', ROOT],
    ['shard', SHARD],
  ])('no WebSocket to the %s opens', async (_kind, object) => {
    const url = at(0, route, object);
    // Wakes the object, which then has its key.
    await key(object);
    for (const headers of [{}, BARE, WRONG, CROWDED, { ...BARE, 'mcp-listen-key': '' }]) {
      expect(await upgradeStatus(url, headers)).toBe(403);
    }
  });

  test('no listener to all events attaches', async () => {
    const frames = await eavesdrop(at(0, route, ROOT), BARE);
    await publish(0, TOOLS);
    expect(await frames()).toEqual([]);
  });

  test('a plain request is refused like an upgrade', async () => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const response = await fetch(at(0, route, ROOT), { method, headers: WRONG });
      expect([response.status, await response.text()]).toEqual([403, '']);
    }
  });

  test('a request to a new name writes nothing to disk', async () => {
    const before = await databases('RoutedBus');
    for (const object of ['probe', 'probe/shard-1']) {
      const url = at(0, route, `${route.replace('/', '-')}-${object}`);
      for (const headers of [{}, BARE, WRONG, CROWDED])
        expect(await upgradeStatus(url, headers)).toBe(403);
      expect((await fetch(url, { headers: BARE })).status).toBe(403);
    }
    const made = (await databases('RoutedBus')).filter(
      ({ file }) => !before.some((known) => known.file === file),
    );
    // workerd opens an empty database for every object that gets a request (2026-11).
    await fetch(at(0, 'idle', 'any'));
    const [idle] = await databases('Idle');
    expect(idle).toMatchObject({ tables: [], log: 0 });
    for (const database of made) expect({ ...database, file: '' }).toEqual({ ...idle, file: '' });
  });
});

test('an edge attaches with one call, and gets the key again after a reset of the object', async () => {
  await attach(1);
  await calls(1);
  await attach(1);
  expect(await calls(1)).toEqual({ fetch: 1 });
  await fetch(at(0, 'reset', ROOT));
  await attach(1);
  expect(await calls(1)).toEqual({ fetch: 2, connectionKey: 1 });
});

test('an object that has hibernated has its key without a read of its storage', async () => {
  const stream = await listen(`${workerd.edges[0]}/mcp`, { toolsListChanged: true });
  await stream.message();
  await attach(1);
  await calls(1);
  // As after ten idle seconds.
  expect((await fetch(at(0, 'evict', ROOT))).status).toBe(200);
  for (const headers of [BARE, WRONG])
    expect(await upgradeStatus(at(0, 'raw', ROOT), headers)).toBe(403);
  await attach(1);
  // An object without its key would refuse the edge, which would then call connectionKey.
  const { connectionKey, fetch: fetches } = await calls(1);
  expect([connectionKey, fetches]).toEqual([undefined, expect.any(Number)]);
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  stream.drop();
});

test('the key of an object opens no other object', async () => {
  const headers = { ...BARE, 'mcp-listen-key': await key(ROOT) };
  expect(await upgradeStatus(at(0, 'raw', 'mcp-listen-other'), headers)).toBe(403);
  expect(await upgradeStatus(at(0, 'raw', ROOT), headers)).toBe(101);
  expect(await key('mcp-listen-other')).not.toBe(headers['mcp-listen-key']);
  expect(headers['mcp-listen-key']).toMatch(/^[0-9a-f]{64}$/);
});

function at(edge: number, route: string, object: string): string {
  // The router of the Agents SDK uses one segment as the name, without decoding it.
  return `${workerd.edges[edge]}/${route}/${object}`;
}

async function key(object: string): Promise<string> {
  return (await fetch(at(0, 'key', object))).text();
}

/** Attaches a listener to all events; returns a function that reads the frames it was sent. */
async function eavesdrop(
  url: string,
  headers: Record<string, string>,
): Promise<() => Promise<unknown[]>> {
  const frames: unknown[] = [];
  const socket = await openWebSocket(url, headers).catch(() => undefined);
  socket?.addEventListener('message', ({ data }) => frames.push(JSON.parse(data as string)));
  socket?.send('{"v":1,"type":"follow","seq":1,"fresh":true,"add":["everything"]}');
  return async () => {
    if (socket !== undefined) await expect.poll(() => frames.length).toBeGreaterThan(1);
    socket?.close();
    return frames;
  };
}

async function publish(edge: number, event: unknown): Promise<void> {
  await fetch(at(edge, 'publish', ''), { method: 'POST', body: JSON.stringify(event) });
}

/**
 * Opens a stream, checks that it receives a change, and drops it. Resolves once the isolate has no
 * stream: one whose client has left unnoticed would connect again after a reset.
 */
async function attach(edge: number): Promise<void> {
  const stream = await listen(`${workerd.edges[edge]}/mcp`, { toolsListChanged: true });
  expect(await stream.message()).toBe(acknowledged('1', { toolsListChanged: true }));
  await publish(edge === 0 ? 1 : 0, TOOLS);
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  stream.drop();
  const open = async () => (await fetch(`${workerd.edges[edge]}/open`)).json();
  await expect.poll(open).toBe(0);
}

function calls(edge: number): Promise<Record<string, number>> {
  return callsOf(workerd.edges[edge]);
}

/** The tables, and the bytes of the write-ahead log, of each database of a class. */
async function databases(
  className: string,
): Promise<{ file: string; tables: unknown[]; log: number }[]> {
  const folder = join(disk, className);
  const files = (await readdir(folder)).filter((file) => /^[0-9a-f]{64}\.sqlite$/.test(file));
  return Promise.all(
    files.map(async (file) => {
      // workerd evicts an object after ten idle seconds, and SQLite then removes its log.
      const { size: log } = await stat(join(folder, `${file}-wal`)).catch(() => ({ size: 0 }));
      using database = new DatabaseSync(join(folder, file), { readOnly: true });
      return { file, tables: database.prepare('SELECT name FROM sqlite_master').all(), log };
    }),
  );
}
