import { expect, test } from 'vitest';
import { LIMIT_EDGES } from '../../host/corpus/limit-edges.ts';
import { useFixture } from '../../host/fixture/fixture.ts';
import { LISTEN_HEADERS } from '../../host/listen.ts';

const fixture = useFixture();
const TOOLS = { toolsListChanged: true };

test.each(LIMIT_EDGES)('a listen has at most $limit $name', async ({ body, limit, refusal }) => {
  const abort = new AbortController();
  for (const beyond of [-1, 0, 1]) {
    const init = {
      method: 'POST',
      headers: LISTEN_HEADERS,
      body: body(limit + beyond),
      signal: abort.signal,
    };
    const response = await fetch(fixture().mcp(0), init);
    expect(response.status).toBe(beyond < 1 ? 200 : refusal.status);
    if (beyond === 1)
      expect(await response.json()).toMatchObject({ error: { code: refusal.code } });
  }
  abort.abort();
});

test.each([
  ['streams', { limits: { maxSubscriptions: 3 } }, 3, 503],
  ['streams of a caller', { principal: { name: 'ann' } }, 16, 429],
])('an isolate bounds the number of %s', async (_what, options, limit, status) => {
  for (let count = 0; count <= limit; count += 1) {
    const stream = await fixture().subscribeWith(0, options, TOOLS);
    expect(stream.response.status).toBe(count < limit ? 200 : status);
  }
});

test('an authorizer that does not respond within two seconds denies the caller', async () => {
  await fixture().post(0, '/rights?caller=ann', JSON.stringify('no reply'));
  const begun = performance.now();
  const stream = await fixture().subscribeWith(0, { asks: true }, TOOLS, {
    headers: { 'x-user': 'ann' },
  });
  expect(stream.response.status).toBe(503);
  expect(performance.now() - begun).toBeGreaterThan(1_900);
});
