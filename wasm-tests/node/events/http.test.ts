import { watchEvents } from 'mcp-listen/client';
import { expect, onTestFinished, test } from 'vitest';
import { serveOnNode } from '../../host/node-http.ts';
import { EventStream, occurrence } from './scripted.ts';

test('a connection that is cut is resumed at the cursor, over the fetch of the host', async () => {
  const cursors: unknown[] = [];
  const streams: EventStream[] = [];
  const host = await serveOnNode(async (request) => {
    const message = await request.clone().json();
    const { method, params } = message;
    cursors.push(params.cursor);
    const stream = new EventStream();
    streams.push(stream);
    return stream.respond({ at: 0, method, params, request, message });
  });
  const events: string[] = [];
  const watch = watchEvents(host.origin, {
    ...{ name: 'order.paid', mode: 'push' },
    onEvent: ({ eventId }) => events.push(eventId),
    ...{ onGap: () => {}, onTerminated: () => {} },
  });
  onTestFinished(async () => {
    await watch.close();
    await host.stop();
  });
  const sends = async (place: number, id: string) => {
    await expect.poll(() => streams[place]).toBeDefined();
    streams[place]?.send(['active', { cursor: `before ${id}` }]);
    streams[place]?.send(['event', occurrence(id, { cursor: `after ${id}` })]);
    await expect.poll(() => events.at(-1)).toBe(id);
  };
  await sends(0, 'evt_1');
  host.cut();
  await sends(1, 'evt_2');
  expect(cursors).toEqual([null, 'after evt_1']);
  expect(watch).toMatchObject({ state: 'live', mode: 'push', error: undefined });
});
