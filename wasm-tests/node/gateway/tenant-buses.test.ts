import { InMemoryBus } from 'mcp-listen';
import type { DurableObjectBusOptions } from 'mcp-listen/cloudflare';
import { beforeEach, expect, test, vi } from 'vitest';
import { createGateway } from '../../../dist/cloudflare/gateway/gateway.js';
import { routeListenRequest } from '../../../dist/cloudflare/route/route-listen-request.js';
import { CAPABILITIES, declaring } from '../../host/options.ts';

/** The options of the buses that were created. */
const created = vi.hoisted((): DurableObjectBusOptions[] => []);

vi.mock('cloudflare:workers', () => ({ waitUntil: () => {} }));
vi.mock('../../../dist/cloudflare/edge/durable-object-bus.js', () => ({
  durableObjectBus: (_namespace: unknown, options: DurableObjectBusOptions) => {
    created.push(options);
    return new InMemoryBus();
  },
}));

type BusOptions = Pick<DurableObjectBusOptions, 'onLog' | 'sockets' | 'wanted'>;

const NAMESPACE = { getByName: () => ({}) };
const UPSTREAM = 'https://upstream.example/mcp';
const ADAPTERS: [name: string, serve: (request: Request, options: BusOptions) => unknown][] = [
  [
    'routeListenRequest',
    (request, options) => {
      const route = {
        binding: 'MCP_BUS' as const,
        tenant: () => 'acme',
        handler: () => () => new Response(null, { status: 418 }),
        server: declaring(CAPABILITIES),
        ...options,
      };
      return routeListenRequest(request, { MCP_BUS: NAMESPACE }, route);
    },
  ],
  [
    'createGateway',
    (request, { onLog, ...options }) => {
      const listen = { ...(onLog && { onLog }), server: declaring(CAPABILITIES) };
      const gateway = createGateway(UPSTREAM, NAMESPACE, { ...options, bus: () => 'acme', listen });
      return gateway.fetch(request);
    },
  ],
];

beforeEach(() => {
  created.length = 0;
});

test.each(ADAPTERS)('%s passes sockets, wanted and onLog to the bus', async (_name, serve) => {
  const options: BusOptions = { onLog: () => {}, sockets: 'each', wanted: true };
  await serve(request(), options);
  expect(created.at(-1)).toEqual({ ...options, bus: 'acme', onError: expect.any(Function) });
});

test.each(ADAPTERS)('%s leaves the defaults to the bus', async (_name, serve) => {
  await serve(request(), {});
  expect(created.at(-1)).toEqual({ bus: 'acme', onError: expect.any(Function) });
});

/** A request that reaches no handler and no upstream server. */
function request(): Request {
  return new Request('http://localhost/acme/mcp', { method: 'PUT' });
}
