import type { ServerEvent } from 'mcp-listen';
import { expect, test } from 'vitest';
import { change, fields, LegacySession, listChange, nextMessage } from '../../host/legacy.ts';
import { poison } from '../../host/poison.ts';
import { sessionServer } from '../sessions/serving.ts';

const CHANGED: ServerEvent = { kind: 'tools_list_changed' };

test('the stream of a session ends at a trap, resumes, and is resynced', async () => {
  const { bus, send, server } = sessionServer({ onError: () => {} });
  const session = await LegacySession.begin(send);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await session.open();
  const { id } = fields(await stream.event());
  poison();
  await expect(bus.publish(CHANGED)).rejects.toMatchObject({ code: 'core-trapped' });
  expect(await stream.event()).toBeUndefined();
  const again = await session.open(id);
  expect(again.response.status).toBe(200);
  expect(fields(await again.event())).toMatchObject({ data: '' });
  await bus.publish(CHANGED);
  const cues = [
    await nextMessage(again),
    await nextMessage(again),
    await nextMessage(again),
    await nextMessage(again),
  ];
  // What was missed is unknown, so everything that the session watches is cued first.
  expect(cues).toEqual([
    listChange('tools'),
    listChange('resources'),
    change('note://a'),
    listChange('tools'),
  ]);
  await server.close();
});
