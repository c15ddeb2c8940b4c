import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../host/bundle.ts';
import { acknowledged, listChanged, listen } from '../../host/listen.ts';
import { openWebSocket, upgradeStatus } from '../../host/wire/upgrade.ts';

const ROOT = 'mcp-listen';
const SHARD = 'mcp-listen/shard-1';
const TOOLS = { kind: 'tools_list_changed' };
/** What an edge without a key looks like, and one with a wrong one. */
const BARE = { 'mcp-listen-bus': '3' };
const WRONG = { ...BARE, 'mcp-listen-key': 'f'.repeat(64) };
const CROWDED = { ...BARE, 'mcp-listen-continent': 'EU', 'mcp-listen-full': 'mcp-listen/shard-1' };
let workerd: Workerd;
let disk: string;

beforeAll(async () => {
  disk = await mkdtemp(join(tmpdir(), 'mcp-listen-disk-'));
  workerd = await startWorkerd({
    bundle: await bundleWorker('wasm-tests/workerd/attacks/routed'),
    durableObjects: [
      { binding: 'MCP_BUS', className: 'RoutedBus' },
      { binding: 'IDLE', className: 'Idle' },
    ],
    compatibilityFlags: ['nodejs_compat'],
    stateDir: disk,
  });
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
  ])('no socket to the %s opens', async (_kind, object) => {
    const url = at(0, route, object);
    // The object is awake, and knows its key.
    await key(object);
    for (const headers of [{}, BARE, WRONG, CROWDED, { ...BARE, 'mcp-listen-key': '' }]) {
      expect(await upgradeStatus(url, headers)).toBe(403);
    }
  });

  test('no listener to everything is attached', async () => {
    const frames = await overheard(at(0, route, ROOT), BARE);
    await publish(0, TOOLS);
    expect(await frames()).toEqual([]);
  });

  test('a plain request is refused as an upgrade is', async () => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const answer = await fetch(at(0, route, ROOT), { method, headers: WRONG });
      expect([answer.status, await answer.text()]).toEqual([403, '']);
    }
  });

  test('a probe to a new name writes nothing to disk', async () => {
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
    // workerd opens an empty database for every object that is asked anything (2026-11).
    await fetch(at(0, 'idle', 'any'));
    const [idle] = await databases('Idle');
    expect(idle).toMatchObject({ tables: [], log: 0 });
    for (const database of made) expect({ ...database, file: '' }).toEqual({ ...idle, file: '' });
  });
});

test('an edge that has the key attaches with one call, and after a reset of the object asks for the key again', async () => {
  await attached(1);
  await calls(1);
  await attached(1);
  expect(await calls(1)).toEqual({ fetch: 1 });
  await fetch(at(0, 'reset', ROOT));
  await attached(1);
  expect(await calls(1)).toEqual({ fetch: 2, connectionKey: 1 });
});

test('an object that hibernates knows its key without its storage', async () => {
  const stream = await listen(`${workerd.edges[0]}/mcp`, { toolsListChanged: true });
  await stream.message();
  await attached(1);
  await calls(1);
  // Objects hibernate after ten seconds without anything to do.
  await setTimeout(11_000);
  for (const headers of [BARE, WRONG])
    expect(await upgradeStatus(at(0, 'raw', ROOT), headers)).toBe(403);
  await attached(1);
  // An object that did not know its key would refuse the edge, which would then ask for the key.
  const { connectionKey, fetch: fetches } = await calls(1);
  expect([connectionKey, fetches]).toEqual([undefined, expect.any(Number)]);
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  stream.drop();
});

test('the key of an object opens that object alone', async () => {
  const headers = { ...BARE, 'mcp-listen-key': await key(ROOT) };
  expect(await upgradeStatus(at(0, 'raw', 'mcp-listen-other'), headers)).toBe(403);
  expect(await upgradeStatus(at(0, 'raw', ROOT), headers)).toBe(101);
  expect(await key('mcp-listen-other')).not.toBe(headers['mcp-listen-key']);
  expect(headers['mcp-listen-key']).toMatch(/^[0-9a-f]{64}$/);
});

function at(edge: number, route: string, object: string): string {
  // The router of the Agents SDK takes one segment for the name, and does not decode it.
  return `${workerd.edges[edge]}/${route}/${object}`;
}

async function key(object: string): Promise<string> {
  return (await fetch(at(0, 'key', object))).text();
}

/** What a listener to everything was sent until everything that is on its way has come. */
async function overheard(
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

/** Opens a stream, tells it of a change, and drops it. */
async function attached(edge: number): Promise<void> {
  const stream = await listen(`${workerd.edges[edge]}/mcp`, { toolsListChanged: true });
  expect(await stream.message()).toBe(acknowledged('1', { toolsListChanged: true }));
  await publish(edge === 0 ? 1 : 0, TOOLS);
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  stream.drop();
}

/** How often each method of the object was called by an isolate since this was asked. */
async function calls(edge: number): Promise<Record<string, number>> {
  return (await (await fetch(`${workerd.edges[edge]}/calls?clear`)).json()) as Record<
    string,
    number
  >;
}

/**
 * The databases of the objects of a class: their tables, and the bytes of what was written to them
 * since.
 */
async function databases(
  className: string,
): Promise<{ file: string; tables: unknown[]; log: number }[]> {
  const folder = join(disk, className);
  const files = (await readdir(folder)).filter((file) => /^[0-9a-f]{64}\.sqlite$/.test(file));
  return Promise.all(
    files.map(async (file) => {
      const { size: log } = await stat(join(folder, `${file}-wal`));
      using database = new DatabaseSync(join(folder, file), { readOnly: true });
      return { file, tables: database.prepare('SELECT name FROM sqlite_master').all(), log };
    }),
  );
}
