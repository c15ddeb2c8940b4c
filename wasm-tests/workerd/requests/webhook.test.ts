import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../host/bundle.ts';
import {
  delivery,
  eventOf,
  HOOK_SECRET,
  NEXT_SECRET,
  type Posting,
  STRANGE_SECRET,
} from '../../host/webhook.ts';

let workerd: Workerd;

beforeAll(async () => {
  workerd = await startWorkerd({
    bundle: await bundleWorker('wasm-tests/workerd/hook'),
    ...{ durableObjects: [], edges: 1 },
    text: { HOOK_SECRET, PENDING_SECRET: NEXT_SECRET },
  });
});

afterAll(() => workerd?.stop());

async function post(body: unknown, posting?: Posting) {
  const request = delivery(body, posting);
  const { headers, method } = request;
  return fetch(workerd.edges[0] ?? '', { method, headers, body: await request.text() });
}

async function handled(): Promise<unknown> {
  return (await fetch(workerd.edges[0] ?? '')).json();
}

test('a Worker verifies, handles and acknowledges the messages of a subscription', async () => {
  const challenge = await post(
    { type: 'verification', challenge: 'abc' },
    { secrets: [NEXT_SECRET] },
  );
  expect([challenge.status, await challenge.json()]).toEqual([200, { challenge: 'abc' }]);
  const statuses = [
    await post(eventOf('evt_1')),
    await post(eventOf('evt_1')),
    await post(eventOf('evt_2'), { secrets: [NEXT_SECRET] }),
    await post(eventOf('evt_3'), { secrets: [STRANGE_SECRET] }),
    await post(eventOf('evt_4'), { agoSeconds: 400 }),
    await post('{}'.padEnd(5_000)),
    await post({ type: 'gap', cursor: 'c' }, { id: 'msg_gap' }),
    await post({ type: 'terminated', error: { code: -32_012 } }, { id: 'msg_end' }),
  ].map(({ status }) => status);
  expect(statuses).toEqual([204, 204, 503, 401, 401, 413, 204, 204]);
  expect(await handled()).toEqual(['evt_1', { cursor: 'c' }, { code: 'forbidden' }]);
});

test('a Worker responds with 503 to a repeated event while it handles the event, and 204 later', async () => {
  const event = eventOf('evt_slow', { data: { waitMs: 1_500 } });
  const responses = await Promise.all([post(event), post(event), post(event)]);
  expect(responses.map(({ status }) => status).sort()).toEqual([204, 503, 503]);
  expect((await post(event)).status).toBe(204);
  expect(((await handled()) as unknown[]).filter((id) => id === 'evt_slow')).toHaveLength(1);
});
