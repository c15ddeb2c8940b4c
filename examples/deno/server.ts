// An MCP server on Deno; `deno run --allow-net --allow-read --allow-env server.ts` starts it.
import process from 'node:process';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { createListenHandler, InMemoryBus, publishChanges } from 'mcp-listen';

let isOn = false;

function lampServer() {
  const server = new McpServer(
    { name: 'lamp', version: '1.0.0' },
    { capabilities: { resources: { subscribe: true } } },
  );
  server.registerResource('desk', 'lamp://desk', { description: 'The lamp on the desk' }, () => ({
    contents: [{ uri: 'lamp://desk', text: isOn ? 'on' : 'off' }],
  }));
  const dim = server.registerTool('dim', { description: 'Dims the lamp' }, () => ({
    content: [{ type: 'text', text: 'Dimmed.' }],
  }));
  if (!isOn) dim.disable();
  server.registerTool('switch', { description: 'Switches the lamp' }, async () => {
    isOn = !isOn;
    dim.update({ enabled: isOn });
    await server.server.sendResourceUpdated({ uri: 'lamp://desk' });
    return { content: [{ type: 'text', text: isOn ? 'on' : 'off' }] };
  });
  return server;
}

const bus = new InMemoryBus();
const server = createListenHandler(createMcpHandler(publishChanges(lampServer, bus)), { bus });
const port = Number(process.env.PORT ?? 8787);
// By default only programs of this machine can connect. Set HOST to 0.0.0.0 only behind a proxy
// that authenticates callers.
const hostname = process.env.HOST ?? '127.0.0.1';

const http = Deno.serve({ hostname, port }, (request) => server.fetch(request));

// Ends the streams over 5 seconds. Their clients reconnect to the next process, and this one exits.
Deno.addSignalListener('SIGTERM', async () => {
  await server.drain({ windowMs: 5_000 });
  await http.shutdown();
  Deno.exit();
});
