import { expect, test } from 'vitest';
import { callRequest } from '../../host/call.ts';
import { useFixture } from '../../host/fixture/fixture.ts';
import { LISTEN_HEADERS, listenBody } from '../../host/listen.ts';

const fixture = useFixture();
const LISTEN = {
  method: 'POST',
  headers: LISTEN_HEADERS,
  body: listenBody({ toolsListChanged: true }),
};
const NOT_FOUND = { jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'Method not found' } };

test("a listen that listen: 'off' refuses does not wake the bus", async () => {
  const { attached } = await fixture().bus<{ attached: number }>('stats');
  const wakes = await fixture().bus<number>('wakes');
  for (let count = 0; count < 3; count += 1) {
    const response = await fixture().sendWith(0, { listen: 'off' }, LISTEN);
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual(NOT_FOUND);
  }
  expect(await fixture().bus('stats')).toMatchObject({ attached });
  expect(await fixture().bus<number>('wakes')).toBe(wakes);
});

test("a server with listen: 'off' and no bus is created in the module of a Worker", async () => {
  const url = fixture()
    .mcp(0)
    .replace(/\/mcp$/, '/without-bus');
  const response = await fetch(url, LISTEN);
  expect(response.status).toBe(404);
  expect(await response.json()).toEqual(NOT_FOUND);
});

test("a gateway with listen: 'off' refuses a listen without the bus and the upstream server", async () => {
  const url = fixture()
    .mcp(0)
    .replace(/\/mcp$/, '/gated-off/mcp');
  const response = await fetch(url, LISTEN);
  expect(response.status).toBe(404);
  expect(await response.json()).toEqual(NOT_FOUND);
  expect((await fetch(url, { headers: { accept: 'text/event-stream' } })).status).toBe(405);
  const discovered = (await (await fetch(callRequest(url, 'server/discover'))).json()) as {
    result: object;
  };
  expect(discovered.result).toMatchObject({ capabilities: { tools: {}, logging: {} } });
  expect(discovered.result).not.toMatchObject({ capabilities: { tools: { listChanged: true } } });
});
