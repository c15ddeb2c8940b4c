import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { updated } from '../../host/listen.ts';
import { listenRequest, open, serving, TOOLS, URL, watched } from '../serving.ts';

test('events, notifications, collapsed cues and write delays are counted', async () => {
  const { server } = watched();
  const stream = await open(server, { resourceSubscriptions: ['note://1'] });
  await stream.message();
  await server.notify.resourceUpdated('note://2');
  await server.notify.resourceUpdated('note://1');
  expect(await stream.message()).toBe(updated('1', 'note://1'));
  // One write is on its way; what comes now waits for the reader.
  for (let change = 0; change < 10; change += 1) await server.notify.resourceUpdated('note://1');
  await setTimeout(30);
  expect(await stream.message()).toBe(updated('1', 'note://1'));
  expect(await stream.message()).toBe(updated('1', 'note://1'));
  const { collapsed, events, notifications, written } = server.stats();
  expect({ collapsed, events }).toEqual({ collapsed: 11 - notifications, events: 11 });
  expect(written.reduce((sum, { count }) => sum + count, 0)).toBe(notifications);
  const late = written.filter(({ le }) => le > 20);
  expect(late.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThan(0);
});

test('opened streams are counted, and refused requests by their reason', async () => {
  const server = serving({
    limits: { maxSubscriptions: 1, maxRequestBodySize: 2_000 },
    principal: ({ headers }) => (headers.has('authorization') ? 'someone' : { denied: 401 }),
    authorize: ({ requested }) => (requested.promptsListChanged ? { denied: 403 } : requested),
  });
  const headers = { authorization: 'someone' };
  const refused = async (request: Request) => (await server.fetch(request)).status;
  const { body } = await server.fetch(listenRequest(TOOLS, { headers }));
  expect(await refused(new Request(URL, { method: 'PUT' }))).toBe(405);
  expect(
    await refused(listenRequest(TOOLS, { headers: { ...headers, accept: 'text/html' } })),
  ).toBe(406);
  expect(
    await refused(
      listenRequest(TOOLS, { headers: { ...headers, origin: 'https://evil.example' } }),
    ),
  ).toBe(403);
  expect(await refused(listenRequest(TOOLS, { headers, id: `"${'x'.repeat(2_000)}"` }))).toBe(413);
  expect(await refused(listenRequest('nonsense', { headers }))).toBe(400);
  expect(await refused(listenRequest(TOOLS))).toBe(401);
  expect(await refused(listenRequest({ promptsListChanged: true }, { headers }))).toBe(403);
  expect(await refused(listenRequest(TOOLS, { headers }))).toBe(503);
  await body?.cancel();
  await server.close();
  expect(await refused(listenRequest(TOOLS, { headers }))).toBe(503);
  expect(server.stats()).toMatchObject({
    opened: 1,
    open: 0,
    refused: {
      ...{ http: 2, origin: 1, size: 1, request: 1 },
      ...{ unauthorized: 1, forbidden: 1, full: 1, unavailable: 0, closing: 1 },
    },
  });
});

test('statistics are numbers, and contain no names', async () => {
  const { server } = watched();
  await open(server, { resourceSubscriptions: ['note://secret'] }, { id: '"private"' });
  expectNumbers(server.stats());
  expect(JSON.stringify(server.stats())).not.toMatch(/secret|private/);
});

function expectNumbers(stats: object): void {
  for (const value of Object.values(stats)) {
    if (typeof value === 'object' && value !== null) expectNumbers(value);
    else expect(value).toBeTypeOf('number');
  }
}
