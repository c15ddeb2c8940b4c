import { env } from 'cloudflare:workers';
import { createListenHandler } from 'mcp-listen';
import { durableObjectBus } from 'mcp-listen/cloudflare';
import { CAPABILITIES, SERVER_INFO } from '../../servers/server-info.ts';
import { events, type HookBus } from './hook-bus.ts';

export { HookBus } from './hook-bus.ts';

const { HOOK_BUS, RECEIVER } = env as unknown as {
  HOOK_BUS: DurableObjectNamespace<HookBus>;
  RECEIVER: string;
};

const server = createListenHandler(() => new Response(null, { status: 404 }), {
  bus: durableObjectBus(HOOK_BUS),
  events,
  principal: (request) => request.headers.get('authorization') ?? undefined,
  server: { info: SERVER_INFO, capabilities: CAPABILITIES },
});

/** What a benchmark asks for, as JSON. */
interface Order {
  /** Events to publish, or messages to post. */
  count: number;
  /** The topic of the events. */
  topic?: string;
  /** Messages that are under way at a time. */
  inFlight?: number;
  /** The object whose subscription is copied. */
  object?: string;
}

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === '/mcp') return server.fetch(request);
    const order = (await request.json()) as Order;
    if (pathname === '/publish') await published(order);
    if (pathname === '/posts') await posted(order);
    if (pathname === '/copy') await copied(order);
    return new Response();
  },
};

/** Publishes events one after another. */
async function published({ count, topic = '' }: Order): Promise<void> {
  for (let event = 0; event < count; event += 1)
    await server.notify.event('noted', { topic, note: NOTE });
}

/** The least that posts messages: a few loops that post the same body, unsigned. */
async function posted({ count, inFlight = 1 }: Order): Promise<void> {
  let left = count;
  const loop = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const response = await fetch(`${RECEIVER}/loop`, { method: 'POST', headers: HEADERS, body });
      await response.body?.cancel();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, loop));
}

async function copied({ count, object = '' }: Order): Promise<void> {
  await HOOK_BUS.getByName(object)
    .copy(count)
    .catch(() => {});
}

const NOTE = 'x'.repeat(200);
const HEADERS = { 'content-type': 'application/json' };
const body = JSON.stringify({ name: 'noted', data: { topic: '', note: NOTE }, pad: NOTE });
