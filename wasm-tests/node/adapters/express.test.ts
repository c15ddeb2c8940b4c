import { gzipSync } from 'node:zlib';
import express, { type RequestHandler } from 'express';
import { type AuthInfo, type AuthorizeContext, createListenHandler } from 'mcp-listen';
import { toNodeHandler } from 'mcp-listen/node';
import { describe, expect, test, vi } from 'vitest';
import { served } from '../../host/http-server.ts';
import {
  acknowledged,
  LISTEN_HEADERS,
  listChanged,
  listen,
  listenBody,
} from '../../host/listen.ts';
import { CAPABILITIES } from '../../host/options.ts';
import { echo } from '../../host/servers/behind.ts';
import { serving, TOOLS } from '../serving.ts';

describe('a listen stream under Express', () => {
  test.each([
    ['no parser', []],
    ['express.json()', [express.json()]],
    ['express.text()', [express.text({ type: '*/*' })]],
    ['express.raw()', [express.raw({ type: '*/*' })]],
  ])('behind %s', async (_, middleware) => {
    const server = serving();
    const app = express();
    for (const each of middleware) app.use(each);
    app.all('/mcp', toNodeHandler(server));
    const stream = await listen(`${await served(app)}/mcp`, TOOLS);
    expect(await stream.message()).toBe(acknowledged('1', TOOLS));
    await server.notify.toolsChanged();
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    stream.drop();
    await expect.poll(() => server.stats().ended.left).toBe(1);
  });

  test('with a body that was decompressed and parsed elsewhere', async () => {
    const app = express().use(express.json());
    const handler = toNodeHandler(serving());
    app.post('/mcp', (request, response) => {
      const { body } = request;
      request.body = undefined;
      void handler(request, response, body);
    });
    const headers = { ...LISTEN_HEADERS, 'content-encoding': 'gzip' };
    const response = await fetch(`${await served(app)}/mcp`, {
      method: 'POST',
      headers,
      body: gzipSync(listenBody(TOOLS)),
    });
    expect(response.status).toBe(200);
    await response.body?.cancel();
  });
});

describe('`auth` of a request under Express', () => {
  /** Sets `auth`, as `requireBearerAuth` of the SDK does; passes requests without a token on. */
  const authenticate: RequestHandler = (request, _response, next) => {
    const token = request.headers.authorization?.replace('Bearer ', '');
    const auth: AuthInfo = {
      token: token ?? '',
      clientId: 'app',
      scopes: ['mcp'],
      extra: { sub: token },
    };
    if (token !== undefined) Object.assign(request, { auth });
    next();
  };

  test('names the caller of its listen, and reaches authorize and the handler behind', async () => {
    const asked: AuthorizeContext[] = [];
    const behind: (AuthInfo | undefined)[] = [];
    const server = createListenHandler(
      (_request: Request, options?: { authInfo?: AuthInfo }) => {
        behind.push(options?.authInfo);
        return Response.json({});
      },
      {
        server: { info: { name: 'express', version: '1' }, capabilities: CAPABILITIES },
        principal: (_request, options) =>
          options?.authInfo ?? { denied: 401, wwwAuthenticate: 'Bearer' },
        authorize: (context) => {
          asked.push(context);
          return context.requested;
        },
      },
    );
    const app = express().use(authenticate).all('/mcp', toNodeHandler(server));
    const url = `${await served(app)}/mcp`;
    const stream = await listen(url, TOOLS, { headers: { authorization: 'Bearer ann' } });
    expect(await stream.message()).toBe(acknowledged('1', TOOLS));
    const [context] = asked;
    expect(context?.principal).toBe('ann');
    expect(context?.args).toMatchObject([{ authInfo: { token: 'ann', clientId: 'app' } }]);
    expect(context?.args).toEqual([{ authInfo: context?.claims }]);
    await fetch(url, { method: 'POST', headers: { authorization: 'Bearer bob' }, body: '{}' });
    expect(behind).toMatchObject([{ token: 'bob' }]);
    const denied = await listen(url, TOOLS);
    expect(denied.response.status).toBe(401);
    await server.disconnect('ann');
    expect(await stream.message()).toBeUndefined();
  });
});

describe('a request under Express', () => {
  test('has its whole URL below a router', async () => {
    const app = express().use('/below', toNodeHandler({ fetch: ({ url }) => new Response(url) }));
    const origin = await served(app);
    expect(await (await fetch(`${origin}/below/mcp?a=1`)).text()).toBe(`${origin}/below/mcp?a=1`);
  });

  test('of a type that the parser does not know keeps its bytes', async () => {
    const app = express()
      .use(express.json())
      .use(toNodeHandler({ fetch: echo }));
    const response = await fetch(await served(app), { method: 'POST', body: 'as it is' });
    expect(await response.json()).toMatchObject({ body: 'as it is' });
  });

  test('with a consumed body gets 500, and is reported to onError', async () => {
    const onError = vi.fn();
    const app = express();
    app.use((request, _, next) => void request.resume().once('end', next));
    app.use(toNodeHandler(serving(), { onError }));
    const response = await fetch(await served(app), { method: 'POST', body: 'lost' });
    expect([response.status, await response.text()]).toEqual([500, 'Internal Server Error']);
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'body-consumed' }));
  });
});
