import 'mcp-listen';
import type { RouteListenOptions } from 'mcp-listen/cloudflare';
import { expect, test, vi } from 'vitest';
import { routeListenRequest } from '../../../dist/cloudflare/route/route-listen-request.js';
import type { BusNamespace } from '../../../dist/cloudflare/wire/stubs.js';
import { CAPABILITIES, declaring } from '../../host/options.ts';
import { listenRequest, TOOLS } from '../serving.ts';

vi.mock('cloudflare:workers', () => ({ waitUntil: () => {} }));

interface Env {
  MCP_BUS?: BusNamespace;
}

/** Bindings whose bus no request of these tests reaches. */
function bindings(): Env {
  return { MCP_BUS: { idFromName: () => ({}) } as unknown as BusNamespace };
}

/** A route of the tenants in the path, and the calls of its handlers after their tenants. */
function routed(options: Partial<RouteListenOptions<Env, unknown[]>> = {}) {
  const made = vi.fn();
  const handled = vi.fn();
  const route: RouteListenOptions<Env, unknown[]> = {
    binding: 'MCP_BUS',
    tenant: (request) => new URL(request.url).pathname.split('/')[1],
    handler: ({ name }) => {
      made(name);
      return (request: Request, ...rest: unknown[]) => {
        handled(name, request.method, ...rest);
        return new Response(name, { status: 418 });
      };
    },
    server: declaring(CAPABILITIES),
    ...options,
  };
  return { handled, made, route };
}

function requestOf(path: string): Request {
  return new Request(`http://localhost${path}`, { method: 'OPTIONS' });
}

test('what follows the options reaches the handler of its tenant', async () => {
  const { handled, route } = routed();
  const env = bindings();
  const context = { props: { user: 'ann' } };
  const response = await routeListenRequest(requestOf('/acme/mcp'), env, route, env, context);
  expect([response?.status, await response?.text()]).toEqual([418, 'acme']);
  expect(handled.mock.calls).toEqual([['acme', 'OPTIONS', env, context]]);
  expect(handled.mock.calls[0]?.[3]).toBe(context);
});

test('what follows the options reaches principal', async () => {
  const principal = vi.fn((_request: Request, ..._rest: unknown[]) => ({ denied: 401 as const }));
  const { route } = routed({ principal, tenant: () => 'acme' });
  const env = bindings();
  const context = { props: { user: 'ann' } };
  const response = await routeListenRequest(listenRequest(TOOLS), env, route, env, context);
  expect(response?.status).toBe(401);
  expect(principal.mock.calls).toEqual([[expect.any(Request), env, context]]);
  expect(principal.mock.calls[0]?.[2]).toBe(context);
});

test('a binding that env does not have is invalid-options', async () => {
  const { made, route } = routed();
  await expect(routeListenRequest(requestOf('/acme/mcp'), {}, route)).rejects.toMatchObject({
    code: 'invalid-options',
    message: 'env has no binding MCP_BUS',
  });
  expect(made).not.toHaveBeenCalled();
});

test('maxTenants 0 keeps only the server that is in use', async () => {
  const { made, route } = routed({ maxTenants: 0 });
  const env = bindings();
  for (const tenant of ['acme', 'acme', 'globex', 'acme'])
    await routeListenRequest(requestOf(`/${tenant}/mcp`), env, route);
  expect(made.mock.calls.flat()).toEqual(['acme', 'globex', 'acme']);
});

test.each([
  ['undefined', undefined],
  ['empty', ''],
  ['no name of a bus', 'a\0b'],
])('a request whose tenant is %s is not for the route', async (_, name) => {
  const { made, route } = routed({ tenant: () => name });
  const request = requestOf('/acme/mcp');
  expect(await routeListenRequest(request, bindings(), route)).toBeUndefined();
  expect(made).not.toHaveBeenCalled();
});
