import { env } from 'cloudflare:workers';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { createListenHandler } from 'mcp-listen';
import { durableObjectBus } from 'mcp-listen/cloudflare';
import { sdkFactory } from '../../servers/sdk-factory.ts';
import { CAPABILITIES, SERVER_INFO } from '../../servers/server-info.ts';
import { uris } from '../uris.ts';
import type { BenchBus } from './bus.ts';
import { type Echo, echo } from './echo.ts';

export { BenchBus } from './bus.ts';
export { Echo } from './echo.ts';

const { AROUND, ECHO, LISTEN_BUS, SOCKETS } = env as unknown as {
  AROUND: 'true' | 'false';
  ECHO: DurableObjectNamespace<Echo>;
  LISTEN_BUS: DurableObjectNamespace<BenchBus>;
  SOCKETS: 'auto' | 'shared' | 'each';
};

/** With `AROUND`, each listen asks the SDK for the server's capabilities, since none are passed. */
const { fetch } = createMcpHandler(sdkFactory);
const [handler, declared] =
  AROUND === 'true'
    ? [(request: Request) => fetch(request), {}]
    : [
        () => new Response(null, { status: 404 }),
        { server: { info: SERVER_INFO, capabilities: CAPABILITIES } },
      ];

/** mcp-listen as users deploy it: this isolate holds streams or publishes, and another the bus. */
const server = createListenHandler(handler, {
  bus: durableObjectBus(LISTEN_BUS, { sockets: SOCKETS }),
  ...declared,
  limits: { maxSubscriptions: 100_000 },
});

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/mcp') return server.fetch(request);
    const bus = LISTEN_BUS.getByName('mcp-listen');
    const times = Number(searchParams.get('times'));
    switch (pathname) {
      case '/publish':
        await Promise.all((await uris(request)).map((uri) => server.notify.resourceUpdated(uri)));
        return new Response();
      case '/trips':
        for (let trip = 0; trip < times; trip += 1) await bus.nothing();
        return new Response();
      case '/echoes':
        await echo(ECHO.getByName('echo'), times);
        return new Response();
      case '/sockets':
        return Response.json((await bus.stats()).sockets);
      case '/wakes':
        return Response.json(await bus.wakes());
      case '/shards':
        return Response.json((await bus.stats()).shards.length);
      case '/reset':
        // The reset ends this call too.
        await bus.reset().catch(() => {});
        return new Response();
      default:
        return server.fetch(request);
    }
  },
};
