// An MCP server of several processes that share a Redis: `node server.mjs`, and for one more
// `PORT=8788 node server.mjs`.
import { createServer } from 'node:http';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { createListenHandler, publishChanges } from 'mcp-listen';
import { toNodeHandler } from 'mcp-listen/node';
import { redisBus } from 'mcp-listen/redis';
import { createClient } from 'redis';

const URI = 'counter://visits';
const url = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379';
const redis = createClient({ url });
let isServing = false;
redis.on('error', ({ code, message }) => {
  const { host } = new URL(url);
  console.error(`Redis does not respond at REDIS_URL (${host}): ${code ?? message}`);
  if (!isServing) process.exit(1);
});
await redis.connect();
isServing = true;

function counterServer() {
  const server = new McpServer(
    { name: 'counter', version: '1.0.0' },
    { capabilities: { resources: { subscribe: true } } },
  );
  server.registerResource('visits', URI, { description: 'The number of visits' }, async () => ({
    contents: [{ uri: URI, text: (await redis.get('visits')) ?? '0' }],
  }));
  server.registerTool('visit', { description: 'Counts a visit' }, async () => {
    const visits = await redis.incr('visits');
    await server.server.sendResourceUpdated({ uri: URI });
    return { content: [{ type: 'text', text: String(visits) }] };
  });
  return server;
}

const bus = redisBus(redis);
const server = createListenHandler(createMcpHandler(publishChanges(counterServer, bus)), { bus });
const port = Number(process.env.PORT ?? 8787);
const handler = toNodeHandler(server);
createServer(handler).listen(port, '127.0.0.1', () =>
  console.log(`The counter is at http://127.0.0.1:${port}/mcp`),
);

// Each stream ends with its pending notifications and its result. Slow readers have 5 seconds.
process.once('SIGTERM', async () => {
  await server.close();
  await bus.close();
  await handler.flushed(5_000);
  process.exit();
});
