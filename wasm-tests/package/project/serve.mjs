/** Serves one stream in this process, publishes, and closes; returns all frames of the stream. */
export async function served({ createListenHandler }, meanwhile = () => {}) {
  const server = createListenHandler(() => new Response(null, { status: 404 }), {
    server: {
      info: { name: 'tests', version: '1.0.0' },
      capabilities: { tools: { listChanged: true } },
    },
  });
  const reader = (await server.fetch(listen('http://localhost/mcp'))).body.getReader();
  const text = new TextDecoder();
  let frames = text.decode((await reader.read()).value);
  await meanwhile();
  await server.notify.toolsChanged();
  const closed = server.close();
  for (let part = await reader.read(); !part.done; part = await reader.read())
    frames += text.decode(part.value);
  await closed;
  return frames;
}

/** A listen request for the list of tools. */
export function listen(url) {
  return new Request(url, {
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
  });
}
