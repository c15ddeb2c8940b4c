import type { ListenStats } from 'mcp-listen';
import type { BusStats } from 'mcp-listen/cloudflare';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { listChanged, WITH_TASKS } from '../../host/listen.ts';

// One socket may use a 32nd part of it: 10,000 bytes.
const fixture = useFixture({ NAMES_BYTES: '320000' });
/** Results of `principal` expire at once. */
const OPTIONS = { names: true, authorizationTtlMs: 1 };
const TOOLS = { kind: 'tools_list_changed' };
const CUE = listChanged('1', 'tools');
const GROUP = 'x'.repeat(600);
const TASK = { taskId: 't', status: 'working', createdAt: '', lastUpdatedAt: '', ttl: null };

test('a stream that outgrows its shared socket gets its own, and misses nothing', async () => {
  const filler = Array.from({ length: 5 }, (_, place) => `note://${place}/`.padEnd(1_850, 'x'));
  const wanted = { toolsListChanged: true, resourceSubscriptions: filler };
  const others = await fixture().subscribeWith(0, OPTIONS, wanted, {
    headers: { 'x-user': 'dan' },
  });
  expect(others.response.status).toBe(200);
  expect(await others.message()).toContain('acknowledged');
  const filter = { toolsListChanged: true, taskIds: ['t'] };
  await setPrincipal({ name: 'fay' });
  const init = { headers: { 'x-user': 'fay' }, capabilities: WITH_TASKS };
  const stream = await fixture().subscribeWith(0, OPTIONS, filter, init);
  expect(await stream.message()).toContain('acknowledged');
  expect(await fixture().bus<BusStats>('stats')).toMatchObject({ sockets: 1 });
  await setPrincipal({ name: 'fay', groups: [GROUP] });
  await fixture().publish(1, TOOLS);
  for (const open of [stream, others]) expect(await open.message()).toBe(CUE);
  await fixture().publish(1, { kind: 'for_group', group: GROUP, event: TOOLS });
  expect(await stream.message()).toBe(CUE);
  await fixture().publish(1, { kind: 'task_status', task: TASK });
  expect(await stream.message()).toContain('"taskId":"t"');
  expect(await fixture().bus<BusStats>('stats')).toMatchObject({ sockets: 2 });
  // The shared socket has room again, but does not have the position of the stream.
  others.drop();
  await expect.poll(() => fixture().bus<BusStats>('stats')).toMatchObject({ sockets: 1 });
  await fixture().post(1, '/bus/reset');
  await fixture().publish(1, { kind: 'task_status', task: { ...TASK, status: 'completed' } });
  expect(await stream.message()).toContain('"status":"completed"');
  const stats = await fixture().ask<ListenStats>(0, OPTIONS, 'stats');
  expect(stats).toMatchObject({ open: 1, resyncs: 0, ended: { lost: 0, aborted: 0 } });
});

/** Sets in both isolates what `principal` returns for fay from now on. */
async function setPrincipal(result: object): Promise<void> {
  for (const edge of [0, 1])
    await fixture().post(edge, '/names?caller=fay', JSON.stringify(result));
}
