import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Workerd } from '../../../scripts/workerd/workerd.mjs';
import {
  allVersionsOf,
  CHANGED,
  casesOf,
  placeholderFor,
  ROWS,
  versionsOf,
  type WireCall,
  type WireTable,
} from '../../host/corpus/wire.ts';
import { Fixture } from '../../host/fixture/fixture.ts';
import { startFixture } from '../../host/fixture/start.ts';
import { LegacySession, post } from '../../host/legacy.ts';
import { SECRET } from '../../host/signing.ts';

const FILTER = { toolsListChanged: true };
/** The shard of the rows is in Europe. */
const EUROPE = { headers: { 'x-continent': 'EU' } };
const BUS = 'mcp-listen';
const SHARD = 'mcp-listen/shard-1';
let workerd: Workerd;
let fixture: Fixture;

function useObjects(): void {
  beforeAll(async () => {
    // A shard with few streams would otherwise call its root during these tests.
    const text = { RECORDS: 'yes', SHARD_CLOSE_MS: '3600000', VERSION_ID: '7d9c' };
    workerd = await startFixture({ bundle: inject('fixtureBundle'), edges: 2, text });
    fixture = new Fixture(workerd);
  });
  afterAll(() => workerd?.stop());
}

describe.each(allVersionsOf(ROWS))('an object on rows of wire %i', (version) => {
  useObjects();

  test('reads all rows', async () => {
    const tables = await restore(version);
    const stream = await fixture.open(0, FILTER, EUROPE);
    for (const { call, name, object, response } of tables.flatMap(({ reads }) => reads)) {
      // The rows settle after the object has done the work that they request.
      if (call[0] === 'rows') await expect.poll(() => callObject(object, call)).toEqual(response);
      expect([name, await callObject(object, call)], CHANGED).toEqual([name, response]);
    }
    stream.drop();
  });
});

describe.each(versionsOf('edge/calls'))('calls of edges of wire %i', (version) => {
  useObjects();

  test('get the replies of that version', async () => {
    await restore(version);
    for (const { call, name, object, response } of casesOf<WireCall>('edge/calls', version)) {
      expect([name, placeholderFor(await callObject(object, call))], CHANGED).toEqual([
        name,
        response,
      ]);
    }
  });
});

describe('a new object', () => {
  useObjects();

  test('of a bus or a shard creates the tables of the latest files', async () => {
    const latest = ROWS.flatMap((kind) => casesOf<WireTable>(kind));
    for (const object of [BUS, `${BUS}/shard-9`]) {
      await callObject(object, ['stats']);
      const role = object === BUS ? BUS : SHARD;
      const created = latest.filter((table) => table.object === role);
      const expected = created.flatMap(({ create }) => create).sort();
      expect(((await callObject(object, ['tables'])) as string[]).sort(), CHANGED).toEqual(
        expected,
      );
    }
  });
});

describe('an edge', () => {
  useObjects();

  test('makes the calls of the latest file', async () => {
    await restore(Number.POSITIVE_INFINITY);
    const calls = casesOf<WireCall>('edge/calls');
    const [id = ''] = JSON.stringify(calls).match(/[0-9a-f-]{36}\.[0-9a-f]{64}/) ?? [];
    const stream = await fixture.open(0, FILTER, EUROPE);
    await fixture.publish(0, TOOLS);
    await fixture.post(0, '/publish-all', JSON.stringify([TOOLS, PROMPTS]));
    await fixture.request(0, '/endpoint', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${SECRET}`,
        'content-type': 'application/json',
        'idempotency-key': 'k-1',
      },
      body: JSON.stringify(TOOLS),
    });
    const ann = fixture.via(0, { 'x-user': 'ann' });
    await LegacySession.initialize(ann);
    await post(ann, WATCH, { 'mcp-session-id': id });
    const made = (await (await fixture.post(0, '/calls')).json()) as WireCall[];
    const expected = calls.map(({ call, object }) => ({ object, call }));
    expect(made.map(withoutUrl), CHANGED).toEqual(expected);
    stream.drop();
  });
});

/** Fills the storage of the bus and a shard with the rows of a version. */
async function restore(version: number): Promise<WireTable[]> {
  const tables = ROWS.flatMap((kind) => casesOf<WireTable>(kind, version));
  for (const object of [SHARD, BUS]) {
    const own = tables.filter((table) => table.object === object);
    const { status } = await fixture.post(
      1,
      `/bus/create-tables${at(object)}`,
      JSON.stringify(own),
    );
    expect(status).toBe(200);
  }
  return tables;
}

async function callObject(object: string, call: unknown[]): Promise<unknown> {
  const response = await fixture.post(1, `/bus/call${at(object)}`, JSON.stringify(call));
  if (response.status !== 200) return response.status;
  // The remaining bytes of names depend on budgets.
  return JSON.parse((await response.text()).replace(/(?<="room\\":)\d+/, '0'));
}

function at(object: string): string {
  const [, shard] = object.split('/shard-');
  return shard === undefined ? '' : `?shard=${shard}`;
}

/** Replaces the arguments of an upgrade by its header fields, without the id of the isolate. */
function withoutUrl({ call, object }: WireCall): { object: string; call: unknown[] } {
  const [method, , init] = call;
  if (method !== 'fetch') return { object, call };
  const { 'mcp-listen-isolate': _, ...headers } = (init as { headers: Record<string, string> })
    .headers;
  return { object, call: [method, headers] };
}

const TOOLS = { kind: 'tools_list_changed' };
const PROMPTS = { kind: 'prompts_list_changed' };
const WATCH = {
  jsonrpc: '2.0',
  id: 7,
  method: 'resources/subscribe',
  params: { uri: 'note://b' },
};
