import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';

const fixture = useFixture({ SESSION_IDLE_MS: '5000' });

test('the alarm of the bus removes an unused session, but not one with a stream', async () => {
  const streaming = await fixture().session(0);
  const stream = await fixture().openSession(streaming, 1);
  await stream.event();
  const idle = await fixture().session(0);
  expect(await fixture().bus('stats')).toMatchObject({ sessions: 2 });
  await expect.poll(() => fixture().bus('stats')).toMatchObject({ sessions: 1 });
  expect(await streaming.ask('ping')).toMatchObject({ result: {} });
  expect((await idle.get()).status).toBe(404);
  stream.drop();
  await expect.poll(() => fixture().bus('stats')).toMatchObject({ sessions: 0 });
});
