import { env } from 'cloudflare:workers';
import { createListenHandler } from 'mcp-listen';
import { durableObjectBus } from 'mcp-listen/cloudflare';
import { CAPABILITIES, SERVER_INFO } from '../../servers/server-info.ts';
import { uris } from '../uris.ts';
import type { CountedBus } from './counted-bus.ts';
import { events } from './events.ts';
import { countsNow, countTimers } from './ledger.ts';

export { CountedBus } from './counted-bus.ts';

const { COST_BUS, ISOLATE, SOCKETS } = env as unknown as {
  COST_BUS: DurableObjectNamespace<CountedBus>;
  ISOLATE: string;
  SOCKETS: 'auto' | 'each';
};

if (ISOLATE === 'bus') countTimers();

const bus = durableObjectBus(COST_BUS, { sockets: SOCKETS });
const server = createListenHandler(() => new Response(null, { status: 404 }), {
  bus,
  server: { info: SERVER_INFO, capabilities: CAPABILITIES },
  limits: { maxSubscriptions: 100_000 },
});

/** Serves events to callers, who name themselves. */
const eventServer = createListenHandler(() => new Response(null, { status: 404 }), {
  bus,
  events,
  principal: (request) => request.headers.get('authorization') ?? undefined,
  server: { info: SERVER_INFO, capabilities: CAPABILITIES },
});

/** Serves listens, events and publishes; in the isolate of the objects it returns the counts. */
export default {
  async fetch(request: Request): Promise<Response> {
    switch (new URL(request.url).pathname) {
      case '/publish':
        for (const uri of await uris(request)) await server.notify.resourceUpdated(uri);
        return new Response();
      case '/events':
        return eventServer.fetch(request);
      case '/emit':
        return Response.json(
          await eventServer.notify.event('order.paid', { customer: await request.text() }),
        );
      case '/open':
        return Response.json(server.stats().open);
      case '/counts':
        return Response.json(countsNow());
      default:
        return server.fetch(request);
    }
  },
};
