import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root } from '../../scripts/project.mjs';
import { startWorkerd, type Workerd } from '../../scripts/workerd.mjs';
import { bundled } from '../host/bundle.ts';
import { acknowledged, listen, updated } from '../host/listen.ts';

let workerd: Workerd;

beforeAll(async () => {
  const bundle = await bundled('examples/worker');
  const durableObjects = [{ binding: 'MCP_BUS', className: 'SubscriptionBus' }];
  workerd = await startWorkerd({ bundle, durableObjects, edges: 2 });
});

afterAll(() => workerd?.stop());

test('the Worker of the README tells a stream in one isolate of a tool call in another', async () => {
  const stream = await listen(`${workerd.edges[0]}/mcp`, { resourceSubscriptions: ['lamp://desk'] });
  expect(await stream.message()).toBe(acknowledged('1', { resourceSubscriptions: ['lamp://desk'] }));
  expect((await callTool(`${workerd.edges[1]}/mcp`, 'switch')).status).toBe(200);
  expect(await stream.message()).toBe(updated('1', 'lamp://desk'));
  stream.drop();
});

test.each(['worker.ts', 'wrangler.toml'])('the README shows %s as it is', async (file) => {
  const readme = await readFile(join(root, 'README.md'), 'utf8');
  const shown = await readFile(join(root, 'examples/worker', file), 'utf8');
  const wanted = file === 'wrangler.toml' ? shown.slice(shown.indexOf('[[')) : shown;
  expect(readme).toContain(wanted);
});

function callTool(url: string, name: string): Promise<Response> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': name,
  };
  const params = { name, arguments: {}, _meta: meta };
  return fetch(url, {
    method: 'POST',
    headers,
    body: JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params }),
  });
}
