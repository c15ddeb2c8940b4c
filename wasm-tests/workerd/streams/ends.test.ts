import { expect, test } from 'vitest';
import { socketsOf, useFixture } from '../../host/fixture/fixture.ts';
import { acknowledged, LISTEN_HEADERS, listenBody } from '../../host/listen.ts';

const fixture = useFixture();
/** Sockets of 20 streams in two isolates. */
const SHARED = socketsOf(20, 2);
const info = '"io.modelcontextprotocol/serverInfo":{"name":"fixture","version":"1.0.0"}';

function result(id: string): string {
  const meta = `"io.modelcontextprotocol/subscriptionId":${id},${info}`;
  return `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete","_meta":{${meta}}}}`;
}

test('clients that disconnect leave no socket behind', async () => {
  const streams = Array.from({ length: 20 }, (_, place) =>
    fixture().subscribe(place % 2, { toolsListChanged: true }),
  );
  for (const stream of await Promise.all(streams)) await stream.message();
  expect(await fixture().bus('stats')).toMatchObject({ attached: SHARED, sockets: SHARED });
  await fixture().dropAll();
});

test('a client that leaves before the acknowledgment leaves no socket behind', async () => {
  await fixture().post(1, '/bus/withhold?is=true');
  const abort = new AbortController();
  const opening = fetch(fixture().urlWith(0, { timeouts: { attachMs: 60_000 } }), {
    method: 'POST',
    headers: LISTEN_HEADERS,
    body: listenBody({ toolsListChanged: true }),
    signal: abort.signal,
  });
  await expect.poll(() => fixture().bus('stats')).toMatchObject({ sockets: 1 });
  abort.abort();
  await expect(opening).rejects.toThrow();
  await fixture().post(1, '/bus/withhold?is=false');
  await fixture().untilAttached(0);
});

test('a stream with nothing honored is acknowledged and ends, without a socket', async () => {
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

// A closed server stays closed, so this is the last test.
test('close in another request of the isolate ends each stream with the result', async () => {
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
  await fixture().untilAttached(0);
  const { response } = await fixture().subscribe(0, { toolsListChanged: true });
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toBe('2');
});
