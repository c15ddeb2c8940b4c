import { type ClientListenOptions, type ListenTarget, listen, watch } from 'mcp-listen/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { hostile, type Turn } from '../../host/servers/hostile.ts';

const TOOLS = { toolsListChanged: true };
const CREDENTIALS: [kind: string, options: ClientListenOptions][] = [
  ['a token', { token: 'secret' }],
  ['a function for tokens', { token: async () => 'secret' }],
  ['header fields', { headers: { 'x-api-key': 'secret' } }],
];

/** A server that redirects to another one, and the requests that arrived there. */
async function redirecting(status: number, from = 0) {
  const seen: string[] = [];
  const elsewhere = await hostile((turn) => {
    seen.push(JSON.stringify([turn.request.headers, turn.body]));
    turn.begin().acknowledge();
  });
  const here = await hostile((turn: Turn) => {
    if (turn.before >= from) return turn.refuse(status, { location: elsewhere.url });
    return turn.begin().acknowledge().drop();
  });
  onTestFinished(async () => {
    await here.stop();
    await elsewhere.stop();
  });
  return { here, seen };
}

describe.each(CREDENTIALS)('a client with %s', (_, credentials) => {
  test.each([301, 302, 303, 307, 308])('does not follow a %d to another origin', async (status) => {
    const { here, seen } = await redirecting(status);
    for (const revision of ['auto', '2026-07-28', '2025'] as const) {
      await expect(listen(here.url, TOOLS, { ...credentials, revision })).rejects.toMatchObject({
        code: 'redirected',
      });
    }
    expect(seen).toEqual([]);
    expect(here.requests()).toBe(3);
  });

  test('does not follow a later redirect, and stops its watch', async () => {
    const { here, seen } = await redirecting(307, 1);
    const stopped = Promise.withResolvers<void>();
    const watched = watch(here.url, TOOLS, () => {}, { ...credentials, revision: '2026-07-28' });
    watched.subscribe(() => void (watched.state === 'stopped' && stopped.resolve()));
    await stopped.promise;
    expect(watched.error).toMatchObject({ code: 'redirected' });
    expect([seen, here.requests()]).toEqual([[], 2]);
  });

  test('does not follow redirects of requests that a function creates', async () => {
    const { here, seen } = await redirecting(307);
    const targets: ListenTarget[] = [
      ({ body, ...parts }) => new Request(here.url, { ...parts, ...(body !== null && { body }) }),
      ({ body, headers, method }) =>
        new Request(here.url, { method, headers, ...(body !== null && { body }) }),
    ];
    for (const target of targets) {
      await expect(listen(target, TOOLS, credentials)).rejects.toMatchObject({
        code: 'redirected',
      });
    }
    expect(seen).toEqual([]);
  });

  test('treats the opaque response of a browser as a redirect', async () => {
    const opaque = Object.defineProperty(new Response(), 'status', { value: 0 });
    const { fetch } = { fetch: async () => opaque };
    await expect(
      listen('http://localhost/mcp', TOOLS, { ...credentials, fetch }),
    ).rejects.toMatchObject({
      code: 'redirected',
    });
  });
});

test('a client without credentials follows a redirect', async () => {
  const { here, seen } = await redirecting(307);
  const subscription = await listen(here.url, TOOLS, { revision: '2026-07-28' });
  await subscription.close();
  expect(seen).toHaveLength(1);
});
