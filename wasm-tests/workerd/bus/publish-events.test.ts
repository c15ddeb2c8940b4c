import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../host/bundle.ts';
import { callRequest } from '../../host/call.ts';
import { responseOf } from '../../host/response.ts';
import { BEARER } from '../../host/signing.ts';

let workerd: Workerd;

beforeAll(async () => {
  workerd = await startWorkerd({
    bundle: await bundleWorker('wasm-tests/workerd/fixture/webhooks'),
    durableObjects: [{ binding: 'MCP_BUS', className: 'HookBus' }],
    edges: 2,
  });
}, 60_000);

afterAll(() => workerd?.stop());

interface Page {
  cursor: string;
  events: { data: { topic: string } }[];
}

/** Publishes with an idempotency key; resolves with the status and the reply. */
function post(body: object, key: string): ReturnType<typeof responseOf> {
  const headers = { ...BEARER, 'idempotency-key': key };
  const init = { method: 'POST', headers, body: JSON.stringify(body) };
  return responseOf(fetch(`${workerd.edges[0]}/publish`, init));
}

/** Reads the occurrences after a cursor, in another isolate. */
async function poll(cursor?: string): Promise<Page> {
  const params = { name: 'noted', ...(cursor !== undefined && { cursor }) };
  const request = callRequest(`${workerd.edges[1]}/mcp`, 'events/poll', params);
  request.headers.set('authorization', 'ada');
  const { result } = (await (await fetch(request)).json()) as { result: Page };
  return result;
}

/** The topics of the occurrences after a cursor. */
async function topicsAfter({ cursor }: Page): Promise<string[]> {
  return (await poll(cursor)).events.map(({ data }) => data.topic);
}

function noted(topic: string): object {
  return { kind: 'event', name: 'noted', data: { topic } };
}

const LISTED = { kind: 'tools_list_changed' };
const REUSED = [422, expect.objectContaining({ error: 'idempotency-key-reused' })];

describe('a repeated idempotency key', () => {
  test('of an occurrence publishes it once, and each reply has its position', async () => {
    const before = await poll();
    const replies = await Promise.all([post(noted('a'), 'one'), post(noted('a'), 'one')]);
    replies.push(await post(noted('a'), 'one'));
    const [, { position }] = await post(LISTED, 'after-one');
    const reply = [200, { position: (position as number) - 1 }];
    expect(replies).toEqual([reply, reply, reply]);
    expect(await topicsAfter(before)).toEqual(['a']);
  });

  test('of an occurrence is known after a reset of the bus', async () => {
    const before = await poll();
    const first = await post(noted('kept'), 'kept');
    await fetch(`${workerd.edges[0]}/mcp-listen`, { method: 'POST', body: '["reset"]' });
    expect(await post(noted('kept'), 'kept')).toEqual(first);
    expect(await topicsAfter(before)).toEqual(['kept']);
  });

  test('is refused with other data, or with another kind, and nothing is published', async () => {
    await post(noted('b'), 'other');
    const before = await poll();
    for (const body of [noted('c'), LISTED, [noted('b')]])
      expect(await post(body, 'other')).toEqual(REUSED);
    expect(await topicsAfter(before)).toEqual([]);
  });

  test('of an array with changes and occurrences publishes all of it once, or nothing', async () => {
    const before = await poll();
    const mixed = [noted('d'), LISTED, noted('e')];
    const first = await post(mixed, 'mixed');
    const [status, { position, positions }] = first;
    const last = position as number;
    expect([status, positions]).toEqual([200, [last - 2, last - 1, last]]);
    expect(await post(mixed, 'mixed')).toEqual(first);
    for (const body of [
      [noted('d'), LISTED, noted('f')],
      [noted('d'), noted('e')],
    ])
      expect(await post(body, 'mixed')).toEqual(REUSED);
    expect(await topicsAfter(before)).toEqual(['d', 'e']);
  });
});
