import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { fields } from '../../host/legacy.ts';

const fixture = useFixture({ LOG_AGE_MS: '1500', LOG_EVENTS: '20' });
const PROMPTS = JSON.stringify({ kind: 'prompts_list_changed' });

test('the log is bounded by count and by age, and does not replay what it has trimmed', async () => {
  await fixture().post(1, `/bus/publish-many?count=50`, PROMPTS);
  const { position } = await fixture().bus<{ position: number }>('stats');
  const held = await fixture().bus<number[]>('positions');
  expect(held.length).toBeGreaterThanOrEqual(20);
  expect(held.length).toBeLessThanOrEqual(22);
  const epoch = await epochOfLog();
  const oldest = held[0] ?? 0;
  expect(await replyTo(epoch, oldest - 1)).toBe(oldest - 1);
  expect(await replyTo(epoch, oldest - 2)).toBe(position);
  await setTimeout(2_000);
  // A publish trims old events, but not the last one, which marks the end of the log.
  await fixture().publish(0, { kind: 'prompts_list_changed' });
  expect(await fixture().bus('positions')).toEqual([position + 1]);
  expect(await replyTo(epoch, oldest - 1)).toBe(position + 1);
  expect(await replyTo(epoch, position)).toBe(position);
  await fixture().post(1, '/bus/reset');
  expect(await replyTo(epoch, position - 1)).toBe(position + 1);
  await fixture().publish(0, { kind: 'prompts_list_changed' });
  expect(await fixture().bus('stats')).toMatchObject({ position: position + 2 });
});

/** The epoch of the log, from an id of a session's stream. */
async function epochOfLog(): Promise<string> {
  const stream = await fixture().openSession(await fixture().session(0), 0);
  const { id } = fields(await stream.event()) as { id: string };
  return id.slice(id.indexOf('-') + 1);
}

/** The position from which the bus continues for an edge with everything up to `position`. */
async function replyTo(epoch: string, position: number): Promise<number> {
  const socket = await fixture().rawEdge(0);
  const reply = new Promise<string>((resolve) => {
    socket.addEventListener('message', ({ data }) => resolve(data), { once: true });
  });
  socket.send(
    JSON.stringify({ v: 1, type: 'follow', seq: 1, fresh: true, since: position, epoch }),
  );
  const { after } = JSON.parse(await reply) as { after: number };
  socket.send('{"v":1,"type":"detach"}');
  return after;
}
