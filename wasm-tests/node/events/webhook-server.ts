import { createListenHandler, InMemoryBus } from 'mcp-listen';
import { defineEvents, type EventWebhookOptions, eventLog } from 'mcp-listen/events';
import type { DeliverMaker } from '../../../dist/bus/memory/webhooks.js';
import { callRequest } from '../../host/call.ts';
import type { Endpoint } from '../../host/endpoint.ts';
import { until } from '../../host/virtual-clock.ts';
import { HOOK_SECRET } from '../../host/webhook.ts';

/** The response of a server: a result, or an error. */
interface Reply {
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
}

/** A server whose callers name themselves. */
export function serving(
  options: EventWebhookOptions = {},
  authorize?: () => boolean | Promise<boolean>,
) {
  const errors: Error[] = [];
  const webhooks = {
    allowInsecureLocalhost: true,
    onError: (error: Error) => errors.push(error),
    ...options,
  };
  const events = defineEvents(
    {
      'order.paid': {
        inputSchema: { type: 'object', properties: { customer: { type: 'string' } } },
        match: { customer: '/customer' },
      },
      measured: {
        match: (args, data) => Number(data['value']) >= Number(args['least']),
        transform: ({ value }, args) => ({ value, least: args['least'] }),
      },
      looked: {
        match: async (_, { isStuck }) => (isStuck === true ? new Promise(() => {}) : true),
      },
      titled: { transform: ({ title }) => ({ title: String(title).slice(0, 1) }) },
    },
    { webhooks, ...(authorize !== undefined && { authorize }) },
  );
  let host: Parameters<DeliverMaker>[0] | undefined;
  const log = eventLog({ webhooks: events });
  const deliver: DeliverMaker = (given) => {
    host = given;
    return (log.deliver as DeliverMaker)(given);
  };
  const bus = new InMemoryBus({ events: { ...log, deliver } });
  const principal = (request: Request) => request.headers.get('authorization') ?? undefined;
  const server = createListenHandler(async () => new Response(null, { status: 404 }), {
    bus,
    events,
    principal: (request) => ({ name: principal(request) }) as { name: string },
  });
  const call = async (method: string, params: object, caller = 'ada'): Promise<Reply> => {
    const request = callRequest('http://127.0.0.1/mcp', method, { ...params });
    request.headers.set('authorization', caller);
    return (await server.fetch(request)).json() as Promise<Reply>;
  };
  const subscribe = (url: string, params: object = {}, caller?: string): Promise<Reply> => {
    const delivery = { mode: 'webhook', url, secret: HOOK_SECRET };
    return call('events/subscribe', { name: 'order.paid', delivery, ...params }, caller);
  };
  const publish = (data: Record<string, unknown>, id?: string) =>
    server.notify.event('order.paid', data, id === undefined ? {} : { id });
  /** The subscriptions that the bus stores. */
  const rows = () => host?.rows.subscriptions() ?? [];
  return { call, errors, publish, rows, server, subscribe };
}

export async function received(of: Endpoint, count: number): Promise<void> {
  await until(() => of.events.length >= count);
}
