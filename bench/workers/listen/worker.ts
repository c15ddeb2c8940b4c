import { env } from 'cloudflare:workers';
import { createListenHandler } from 'mcp-listen';
import { durableObjectBus } from 'mcp-listen/cloudflare';
import { CAPABILITIES, SERVER_INFO } from '../../servers/server-info.ts';
import { uris } from '../uris.ts';
import type { BenchBus } from './bus.ts';

export { BenchBus } from './bus.ts';

const { LISTEN_BUS, SOCKETS } = env as unknown as {
  LISTEN_BUS: DurableObjectNamespace<BenchBus>;
  SOCKETS: 'auto' | 'shared' | 'each';
};

/** mcp-listen as users deploy it: this isolate holds streams or publishes, and another the bus. */
const server = createListenHandler(() => new Response(null, { status: 404 }), {
  bus: durableObjectBus(LISTEN_BUS, { sockets: SOCKETS }),
  server: { info: SERVER_INFO, capabilities: CAPABILITIES },
  limits: { maxSubscriptions: 100_000 },
});

export default {
  async fetch(request: Request): Promise<Response> {
    const bus = LISTEN_BUS.getByName('mcp-listen');
    switch (new URL(request.url).pathname) {
      case '/publish':
        await Promise.all((await uris(request)).map((uri) => server.notify.resourceUpdated(uri)));
        return new Response();
      case '/trips':
        for (let trip = Number(new URL(request.url).searchParams.get('times')); trip > 0; trip -= 1)
          await bus.nothing();
        return new Response();
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
