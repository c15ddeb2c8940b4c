import { expect, test } from 'vitest';
import { socketsOf, useFixture } from '../../host/fixture/fixture.ts';
import { acknowledged, LISTEN_HEADERS, listenBody } from '../../host/listen.ts';

const fixture = useFixture();
/** Sockets of 20 streams in two isolates. */
const SHARED = socketsOf(20, 2);
const info = '"io.modelcontextprotocol/serverInfo":{"name":"fixture","version":"1.0.0"}';

function result(id: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":${id},${info}}}}`;
}

test('clients that disconnect leave no socket behind', async () => {
  const streams = Array.from({ length: 20 }, (_, place) =>
    fixture().subscribe(place % 2, { toolsListChanged: true }),
  );
  for (const stream of await Promise.all(streams)) await stream.message();
  expect(await fixture().bus('stats')).toMatchObject({ attached: SHARED, sockets: SHARED });
  await fixture().dropAll();
});

test('a client that goes away before the ack leaves no socket behind', async () => {
  await fixture().post(1, '/bus/delay?ms=300');
  const abort = new AbortController();
  const opening = fetch(fixture().mcp(0), {
    method: 'POST',
    headers: LISTEN_HEADERS,
    body: listenBody({ toolsListChanged: true }),
    signal: abort.signal,
  });
  await expect.poll(() => fixture().bus('stats')).toMatchObject({ sockets: 1 });
  abort.abort();
  await expect(opening).rejects.toThrow();
  await fixture().post(1, '/bus/delay?ms=0');
  await fixture().attached(0);
});

test('nothing honored: an acknowledgment, the result, the end, and no socket', async () => {
  const stream = await fixture().subscribe(
    0,
    { toolsListChanged: false, unheardOf: true },
    { id: '"none"' },
  );
  expect(await stream.message()).toBe(acknowledged('"none"', {}));
  expect(await stream.message()).toBe(result('"none"'));
  expect(await stream.message()).toBeUndefined();
  expect(await fixture().bus('stats')).toMatchObject({ sockets: 0 });
});

// Closing cannot be undone: what follows would find the isolate closed.
test('close, called in another request of the isolate, drains and ends each stream with the result', async () => {
  const one = await fixture().subscribe(0, { toolsListChanged: true }, { id: '"one"' });
  const two = await fixture().subscribe(0, { toolsListChanged: true }, { id: '2' });
  await one.message();
  await two.message();
  const closed = fixture().post(0, '/close');
  expect(await one.message()).toBe(result('"one"'));
  expect(await one.message()).toBeUndefined();
  expect(await two.message()).toBe(result('2'));
  expect(await two.message()).toBeUndefined();
  expect((await closed).status).toBe(200);
  await fixture().attached(0);
  const { response } = await fixture().subscribe(0, { toolsListChanged: true });
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toBe('2');
});
