import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { isOpenStream } from 'mcp-listen';
import { type HonoListenOptions, listenMiddleware } from 'mcp-listen/hono';
import { expect, test, vi } from 'vitest';
import { served } from '../../host/http-server.ts';
import { LegacySession } from '../../host/legacy.ts';
import {
  acknowledged,
  LISTEN_HEADERS,
  listChanged,
  listen,
  listenBody,
  updated,
} from '../../host/listen.ts';
import { CAPABILITIES } from '../../host/options.ts';
import { TOOLS } from '../serving.ts';

const DECLARED = { info: { name: 'hono', version: '1' }, capabilities: CAPABILITIES };

type Known = { Variables: { user: string } };

/** An app whose first middleware names the caller by a header field. */
function routed(
  options: HonoListenOptions<Known>,
  behind = () => new Response('from the handler'),
) {
  const mcp = listenMiddleware<Known>((request, c) => handled(request, c.get('user'), behind), {
    server: DECLARED,
    onError: () => {},
    ...options,
  });
  const hono = new Hono<Known>()
    .use(async (c, next) => {
      c.set('user', c.req.header('x-user') ?? '');
      await next();
      c.res.headers.set('x-seen', 'yes');
    })
    .all('/mcp', mcp);
  return { hono, mcp };
}

function handled(request: Request, user: string, behind: () => Response): Response {
  const response = behind();
  response.headers.set('x-handled', `${request.method} for ${user}`);
  return response;
}

/** Opens a stream of a caller over HTTP. */
async function openedBy(user: string, { hono }: ReturnType<typeof routed>, filter: object = TOOLS) {
  const url = `${await served(getRequestListener(hono.fetch))}/mcp`;
  return listen(url, filter, { headers: { 'x-user': user } });
}

test('calls principal with the context of the request, and again while a stream is open', async () => {
  const asked = vi.fn();
  const app = routed({
    authorizationTtlMs: 1,
    principal: (c, request) => {
      asked(c.req.path, c.get('user'), isOpenStream(request));
      return c.get('user') === 'eve' ? { denied: 403 } : c.get('user');
    },
  });
  const stream = await openedBy('ann', app);
  expect(await stream.message()).toBe(acknowledged('1', TOOLS));
  await new Promise((resolve) => setTimeout(resolve, 5));
  await app.mcp.notify.toolsChanged();
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(asked.mock.calls[0]).toEqual(['/mcp', 'ann', false]);
  expect(asked).toHaveBeenLastCalledWith('/mcp', 'ann', true);
  expect((await openedBy('eve', app)).response.status).toBe(403);
  await app.mcp.disconnect('ann');
  expect(await stream.message()).toBeUndefined();
});

test('calls authorize with the context of the request', async () => {
  const options: HonoListenOptions<Known> = {
    authorize: ({ c, requested }) => ({
      resourceSubscriptions: (requested.resourceSubscriptions ?? []).filter((uri) =>
        uri.endsWith(c.get('user')),
      ),
    }),
  };
  const app = routed(options);
  const stream = await openedBy('ann', app, {
    resourceSubscriptions: ['note://ann', 'note://eve'],
  });
  expect(await stream.message()).toBe(acknowledged('1', { resourceSubscriptions: ['note://ann'] }));
  await app.mcp.notify.resourceUpdated('note://ann');
  expect(await stream.message()).toBe(updated('1', 'note://ann'));
  stream.drop();
});

test('calls principal for sessions too', async () => {
  const initialized = () => Response.json({ jsonrpc: '2.0', id: 1, result: INITIALIZED });
  const { hono } = routed({ legacy: 'sessions', principal: (c) => c.get('user') }, initialized);
  const send = (user: string) => async (init: RequestInit) =>
    hono.request('http://localhost/mcp', {
      ...init,
      headers: { ...(init.headers as object), 'x-user': user },
    });
  const session = await LegacySession.begin(send('ann'));
  const watch = {
    jsonrpc: '2.0',
    id: 2,
    method: 'resources/subscribe',
    params: { uri: 'note://a' },
  };
  expect((await session.post(watch)).status).toBe(200);
  expect((await session.via(send('eve')).post(watch)).status).toBe(404);
});

test('passes other requests on, and leaves the response to outer middleware', async () => {
  const { hono } = routed({});
  const init = {
    method: 'POST',
    headers: { 'x-user': 'ann', 'content-type': 'application/json' },
    body: '{}',
  };
  const response = await hono.request('http://localhost/mcp', init);
  expect(await response.text()).toBe('from the handler');
  expect([response.headers.get('x-handled'), response.headers.get('x-seen')]).toEqual([
    'POST for ann',
    'yes',
  ]);
});

test('accepts an object with fetch, which receives only the request', async () => {
  const fetch = vi.fn(() => new Response('from fetch'));
  const hono = new Hono().all('/mcp', listenMiddleware({ fetch }));
  expect(
    await (await hono.request('http://localhost/mcp', { method: 'POST', body: '{}' })).text(),
  ).toBe('from fetch');
  expect(fetch.mock.calls).toEqual([[expect.any(Request)]]);
});

test('accepts a body that a middleware has read', async () => {
  const hono = new Hono()
    .use(async (c, next) => {
      await c.req.json();
      await next();
    })
    .all('/mcp', listenMiddleware({ fetch: () => new Response() }, { server: DECLARED }));
  const init = { method: 'POST', headers: LISTEN_HEADERS, body: listenBody(TOOLS) };
  const response = await hono.request('http://localhost/mcp', init);
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'text/event-stream',
  ]);
  await response.body?.cancel();
});

const INITIALIZED = {
  protocolVersion: '2025-11-25',
  capabilities: CAPABILITIES,
  serverInfo: { name: 'behind', version: '1' },
};
