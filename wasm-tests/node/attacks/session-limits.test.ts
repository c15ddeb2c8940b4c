import { createListenHandler, InMemoryBus, type ListenLimits } from 'mcp-listen';
import { expect, test } from 'vitest';
import { initialize, post } from '../../host/legacy.ts';
import { CAPABILITIES, declaring } from '../../host/options.ts';
import { behind, INITIALIZED } from '../../host/servers/behind.ts';
import { type Caller, testSessionLimits } from '../../host/sessions/limits.ts';
import { URL } from '../serving.ts';

const bus = new InMemoryBus();

testSessionLimits((limits, who) => (init) => serverOf(limits).fetch(requestOf(init, who)));

test('a session stores only known capabilities of the upstream server', async () => {
  const capabilities = {
    tools: { listChanged: true },
    experimental: { much: 'x'.repeat(1_000_000) },
  };
  const result = {
    protocolVersion: '2025-11-25',
    capabilities,
    serverInfo: { name: 'behind', version: '1.0.0' },
  };
  const handler = behind(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
  const server = createListenHandler(handler, {
    bus,
    legacy: 'sessions',
    server: declaring(capabilities),
  });
  const response = await post(
    (init) => server.fetch(new Request(URL, init)),
    initialize('2025-11-25'),
  );
  const question = {
    session: response.headers.get('mcp-session-id'),
    ask: { open: { resumes: false } },
  };
  const reply = JSON.parse(await bus.sessions.ask(JSON.stringify(question))) as {
    open: { capabilities: string };
  };
  expect(reply.open.capabilities.length).toBeLessThan(256);
});

function serverOf(limits: ListenLimits) {
  const principal = (request: Request) => request.headers.get('x-user') ?? undefined;
  return createListenHandler(behind(INITIALIZED), {
    bus,
    server: declaring(CAPABILITIES),
    legacy: 'sessions',
    limits,
    principal,
  });
}

function requestOf({ headers, ...init }: RequestInit, { address, claimed, user }: Caller): Request {
  const fields = new Headers(headers);
  if (user !== undefined) fields.set('x-user', user);
  const stated = address ?? claimed;
  if (stated !== undefined) fields.set('cf-connecting-ip', stated);
  const request = new Request(URL, { ...init, headers: fields });
  return address === undefined ? request : Object.assign(request, { cf: { colo: 'FRA' } });
}
