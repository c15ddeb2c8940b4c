import 'mcp-listen'; // loads the core
import { expect, onTestFinished, test, vi } from 'vitest';
import { UpstreamAdmission } from '../../../dist/cloudflare/gateway/upstream/principal.js';
import { UpstreamServer } from '../../../dist/cloudflare/gateway/upstream/server.js';
import { Credentials } from '../../../dist/web/credentials.js';
import { listChanged } from '../../host/listen.ts';
import { open, serving, TOOLS } from '../serving.ts';

vi.mock('cloudflare:workers', () => ({ waitUntil: () => {} }));

const CUE = listChanged('1', 'tools');

/** A server that admits callers with `initialize` and a session only, and the requests it gets. */
function sessionServer() {
  const requests: string[] = [];
  const respond = async (request: Request): Promise<Response> => {
    const text = await request.text();
    const { method } = text === '' ? { method: request.method } : JSON.parse(text);
    requests.push(method);
    if (method !== 'initialize') return new Response(null, { status: 404 });
    const result = { protocolVersion: '2025-11-25', capabilities: {} };
    const headers = { 'mcp-session-id': 's' };
    return Response.json({ jsonrpc: '2.0', id: 'mcp-listen:probe', result }, { headers });
  };
  return { requests, respond };
}

test('a stream ends as exhausted, after its notification, before its checks need too many requests', async () => {
  // Streams are written to after the turn of the event loop in which an event arrives.
  vi.useFakeTimers({ shouldAdvanceTime: true, advanceTimeDelta: 1 });
  onTestFinished(() => void vi.useRealTimers());
  const { requests, respond } = sessionServer();
  const limits = { responseBytes: 10_000, responseMs: 1_000 };
  const upstream = new UpstreamServer(respond, new Credentials(), limits, 8);
  const { principal } = new UpstreamAdmission(upstream, false);
  const server = serving({ principal, keepAliveMs: 0 });
  const stream = await open(server, TOOLS);
  await stream.message();
  expect(requests).toHaveLength(3);
  // Each check is an `initialize` and a DELETE, and six requests are three quarters of eight.
  for (let check = 0; check < 3; check += 1) {
    await vi.advanceTimersByTimeAsync(40_000);
    await server.notify.toolsChanged();
    expect(await stream.message()).toBe(CUE);
  }
  const end = stream.message();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await end).toBeUndefined();
  expect(server.stats().ended).toMatchObject({ exhausted: 1, denied: 0 });
  expect(requests).toHaveLength(9);
});
