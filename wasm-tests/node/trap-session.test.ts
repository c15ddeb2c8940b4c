import type { ServerEvent } from 'mcp-listen';
import { expect, test } from 'vitest';
import { change, fields, nextMessage, LegacySession, listChange } from '../host/legacy.ts';
import { poison } from '../host/poison.ts';
import { sessionServer } from './legacy-serving.ts';

const CHANGED: ServerEvent = { kind: 'tools_list_changed' };

test('the stream of a session of 2025 ends at a trap, comes back where it was, and hears what changed', async () => {
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
  const told = [await nextMessage(again), await nextMessage(again), await nextMessage(again), await nextMessage(again)];
  // Nobody knows what was missed, so all that it watches is told first.
  expect(told).toEqual([
    listChange('tools'),
    listChange('resources'),
    change('note://a'),
    listChange('tools'),
  ]);
  await server.close();
});
