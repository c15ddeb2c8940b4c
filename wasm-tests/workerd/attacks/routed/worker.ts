import { DurableObject, env } from 'cloudflare:workers';
import { routeAgentRequest } from 'agents';
import {
  createListenHandler,
  type ListenBus,
  type ListenHandlerOptions,
  type ServerEvent,
} from 'mcp-listen';
import { durableObjectBus, SubscriptionBus } from 'mcp-listen/cloudflare';
import { evict } from '../../../host/evict.js';
import { behind, INITIALIZED } from '../../../host/servers/behind.js';
import { counted } from './counted.js';

/** The bus as users deploy it, which a test can reset. */
export class RoutedBus extends SubscriptionBus {
  /** Resets the object, as a deploy does. */
  reset(): void {
    this.ctx.abort('reset by a test');
  }

  /** Deletes what the object has stored, and resets it. */
  async wipe(): Promise<void> {
    await this.ctx.storage.deleteAll();
    this.reset();
  }
}

/** An object that does nothing, which shows what the runtime itself writes. */
export class Idle extends DurableObject {
  override fetch(): Response {
    return new Response(null, { status: 403 });
  }
}

const { IDLE, MCP_BUS } = env as unknown as {
  IDLE: DurableObjectNamespace<Idle>;
  MCP_BUS: DurableObjectNamespace<RoutedBus>;
};

const { namespace, calls } = counted(MCP_BUS);
const options: ListenHandlerOptions = {
  server: {
    info: { name: 'routed', version: '1.0.0' },
    capabilities: {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
    },
  },
  keepAliveMs: 500,
  principal: (request) => request.headers.get('x-user') ?? undefined,
};
const server = createListenHandler(behind(INITIALIZED), { ...options, bus: busOf('mcp-listen') });
const others = new Map(
  ['other', 'lost'].map((name) => [
    name,
    createListenHandler(behind(INITIALIZED), { ...options, bus: busOf(name) }),
  ]),
);

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const [, route = '', ...names] = pathname.split('/').map(decodeURIComponent);
    const stub = MCP_BUS.getByName(names.join('/'));
    switch (route) {
      case 'agents':
        return (await routeAgentRequest(request, env)) ?? new Response(null, { status: 404 });
      case 'raw':
        return await stub.fetch(request);
      case 'copied':
        return await stub.fetch('https://mcp-listen.internal/attach', { headers: request.headers });
      case 'idle':
        return await IDLE.getByName(names.join('/')).fetch(request);
      case 'key':
        return new Response(await stub.connectionKey());
      case 'reset':
        await stub.reset().catch(() => {});
        return new Response();
      case 'evict':
        await evict(stub);
        return new Response();
      case 'wipe':
        await stub.wipe().catch(() => {});
        return new Response();
      case 'publish':
        await server.bus.publish((await request.json()) as ServerEvent);
        return new Response();
      case 'calls':
        return Response.json(calls(searchParams.has('clear')));
      case 'open':
        return Response.json(server.stats().open);
      default:
        return (others.get(route) ?? server).fetch(request);
    }
  },
};

function busOf(name: string): ListenBus {
  return durableObjectBus(namespace, { bus: name, sockets: 'each' });
}
