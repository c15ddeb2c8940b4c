import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';

const fixture = useFixture();

/** A request about events without a session and without a revision, which a gateway serves. */
function eventsList(authorization: string): Promise<Response> {
  const url = fixture()
    .mcp(0)
    .replace(/\/mcp$/, '/gated-events/mcp');
  return fetch(url, {
    method: 'POST',
    headers: {
      authorization,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'events/list', params: {} }),
  });
}

test('a caller whom the server behind a gateway refuses learns nothing about its events', async () => {
  expect((await eventsList('Bearer junk')).status).toBe(401);
  const { status } = await eventsList('Bearer good');
  expect(status).toBe(200);
});
