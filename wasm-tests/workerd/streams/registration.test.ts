import type { BusStats } from 'mcp-listen/cloudflare';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { openWhilePublishing } from '../../host/fixture/publishing.ts';
import { acknowledged, listChanged } from '../../host/listen.ts';

const fixture = useFixture();

test('the acknowledgment waits for the bus, and what is published after it is delivered', async () => {
  await fixture().post(1, '/bus/withhold?is=true');
  const patient = { timeouts: { attachMs: 60_000 } };
  const opening = fixture().subscribeWith(1, patient, { toolsListChanged: true });
  let isOpen = false;
  void opening.then(() => {
    isOpen = true;
  });
  await expect
    .poll(() => fixture().bus<BusStats>('stats'))
    .toMatchObject({ attached: 0, sockets: 1 });
  expect(isOpen).toBe(false);
  await fixture().post(1, '/bus/withhold?is=false');
  const stream = await opening;
  expect(await stream.message()).toBe(acknowledged('1', { toolsListChanged: true }));
  expect(await fixture().bus<BusStats>('stats')).toMatchObject({ attached: 1 });
  await fixture().publish(0, { kind: 'tools_list_changed' });
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
});

test('a stream whose bus does not confirm in time is a 503, and leaves nothing registered', async () => {
  await fixture().post(1, '/bus/withhold?is=true');
  const { response } = await fixture().subscribe(0, { toolsListChanged: true });
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toBe('2');
  await fixture().post(1, '/bus/withhold?is=false');
  await fixture().untilAttached(0);
});

test('streams that open during publishes receive everything after the acknowledgment', async () => {
  await openWhilePublishing(fixture(), (round) => round % 2);
});
