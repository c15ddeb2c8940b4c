import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Workerd } from '../../scripts/workerd/workerd.mjs';
import { Fixture } from '../host/fixture.ts';
import { LegacySession, post } from '../host/legacy.ts';
import { acknowledged } from '../host/listen.ts';
import { SECRET } from '../host/signing.ts';
import { startFixture } from '../host/start-fixture.ts';
import {
  allVersionsOf,
  CHANGED,
  casesOf,
  ROWS,
  versionsOf,
  type WireCall,
  type WireTable,
  wordFor,
} from '../host/wire-corpus.ts';

const FILTER = { toolsListChanged: true };
const BUS = 'mcp-listen';
const SHARD = 'mcp-listen/shard-1';
let workerd: Workerd;
let fixture: Fixture;

function useObjects(): void {
  beforeAll(async () => {
    // A shard calls its root when it has had few streams for a while: not during these tests.
    const text = { RECORDS: 'yes', SHARD_CLOSE_MS: '3600000', VERSION_ID: '7d9c' };
    workerd = await startFixture({ bundle: inject('fixtureBundle'), edges: 2, text });
    fixture = new Fixture(workerd);
  });
  afterAll(() => workerd?.stop());
}

describe.each(allVersionsOf(ROWS))('an object on rows of wire %i', (version) => {
  useObjects();

  test('reads all of them', async () => {
    const tables = await lay(version);
    const stream = await subscribed();
    for (const { answer, call, name, object } of tables.flatMap(({ reads }) => reads)) {
      // Objects carry out what their rows ask for; only then rows are what they are to become.
      if (call[0] === 'rows') await expect.poll(() => called(object, call)).toEqual(answer);
      expect([name, await called(object, call)], CHANGED).toEqual([name, answer]);
    }
    stream.drop();
  });
});

describe.each(versionsOf('edge/calls'))('calls of edges of wire %i', (version) => {
  useObjects();

  test('get the answers of that version', async () => {
    await lay(version);
    for (const { answer, call, name, object } of casesOf<WireCall>('edge/calls', version)) {
      expect([name, wordFor(await called(object, call))], CHANGED).toEqual([name, answer]);
    }
  });
});

describe('today', () => {
  useObjects();

  test('a bus and a shard create the tables of the latest files', async () => {
    const latest = ROWS.flatMap((kind) => casesOf<WireTable>(kind));
    for (const object of [BUS, `${BUS}/shard-9`]) {
      await called(object, ['stats']);
      const role = object === BUS ? BUS : SHARD;
      const created = latest.filter((table) => table.object === role);
      const expected = created.flatMap(({ create }) => create).sort();
      expect(((await called(object, ['tables'])) as string[]).sort(), CHANGED).toEqual(expected);
    }
  });
});

describe('an edge of today', () => {
  useObjects();

  test('makes the calls of the latest file', async () => {
    await lay(Number.POSITIVE_INFINITY);
    const calls = casesOf<WireCall>('edge/calls');
    const [id = ''] = JSON.stringify(calls).match(/[0-9a-f-]{36}\.[0-9a-f]{64}/) ?? [];
    const stream = await subscribed();
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
async function lay(version: number): Promise<WireTable[]> {
  const tables = ROWS.flatMap((kind) => casesOf<WireTable>(kind, version));
  for (const object of [SHARD, BUS]) {
    const own = tables.filter((table) => table.object === object);
    const { status } = await fixture.post(1, `/bus/lay${at(object)}`, JSON.stringify(own));
    expect(status).toBe(200);
  }
  return tables;
}

/** Opens a stream from Europe, which has to be at the shard of the rows. */
async function subscribed() {
  const stream = await fixture.subscribe(0, FILTER, { headers: { 'x-continent': 'EU' } });
  expect(await stream.message()).toBe(acknowledged('1', FILTER));
  return stream;
}

async function called(object: string, call: unknown[]): Promise<unknown> {
  const response = await fixture.post(1, `/bus/call${at(object)}`, JSON.stringify(call));
  if (response.status !== 200) return response.status;
  // How many bytes of names a receiver has left is a matter of budgets.
  return JSON.parse((await response.text()).replace(/(?<="room\\":)\d+/, '0'));
}

function at(object: string): string {
  const [, shard] = object.split('/shard-');
  return shard === undefined ? '' : `?shard=${shard}`;
}

/** Of an upgrade, the header fields alone. */
function withoutUrl({ call, object }: WireCall): { object: string; call: unknown[] } {
  const [method, , init] = call;
  if (method !== 'fetch') return { object, call };
  return { object, call: [method, (init as { headers: object }).headers] };
}

const TOOLS = { kind: 'tools_list_changed' };
const PROMPTS = { kind: 'prompts_list_changed' };
const WATCH = {
  jsonrpc: '2.0',
  id: 7,
  method: 'resources/subscribe',
  params: { uri: 'note://b' },
};
