import { createMcpHandler } from '@modelcontextprotocol/server';
import { createListenHandler, InMemoryBus, type ListenHandlerOptions } from 'mcp-listen';
import { serveOnNode } from '../../host/node-http.ts';
import { sdkServer } from '../sessions/serving.ts';

/** A server over HTTP on a free port, with the official SDK behind it. */
export async function served(options: ListenHandlerOptions = {}) {
  const bus = new InMemoryBus();
  const server = createListenHandler(
    createMcpHandler(() => sdkServer()),
    { bus, ...options },
  );
  let requests = 0;
  const node = await serveOnNode((request) => {
    requests += 1;
    return server.fetch(request);
  });
  return {
    bus,
    server,
    url: `${node.origin}/mcp`,
    stop: () => node.stop(),
    requests: () => requests,
  };
}
