import { serveListen } from 'mcp-listen';

const server = serveListen(() => new Response(null, { status: 404 }), {
  capabilities: { tools: { listChanged: true } },
});

const response = await server.fetch(
  new Request('http://localhost/mcp', {
    method: 'POST',
    headers: {
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'subscriptions/listen',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'subscriptions/listen',
      params: {
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
        },
        notifications: { toolsListChanged: true },
      },
    }),
  }),
);

const text = new TextDecoder();
const reader = response.body.getReader();
process.stdout.write(text.decode((await reader.read()).value));
await server.notify.toolsChanged();
const closed = server.close();
for (let part = await reader.read(); !part.done; part = await reader.read())
  process.stdout.write(text.decode(part.value));
await closed;
