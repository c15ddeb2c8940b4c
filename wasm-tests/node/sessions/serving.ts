import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import {
  createListenHandler,
  InMemoryBus,
  type ListenHandler,
  type ListenHandlerOptions,
} from 'mcp-listen';
import { LegacySession, type Send } from '../../host/legacy.ts';
import { streamOf, URL } from '../serving.ts';

/** A server of the official SDK that notifies about all but prompts, behind sessions. */
export function sessionServer(options: ListenHandlerOptions = {}) {
  const bus = new InMemoryBus();
  const server = createListenHandler(
    createMcpHandler(() => sdkServer()),
    { bus, legacy: 'sessions', ...options },
  );
  return { bus, server, send: sendTo(server) };
}

/** Sends requests to a server in this process. */
export function sendTo({ fetch }: ListenHandler): Send {
  return (init) => {
    const request = new Request(URL, init);
    // Node aborts the signal of a request only while the request is referenced, as in real servers.
    init.signal?.addEventListener('abort', () => void request);
    return fetch(request);
  };
}

/** Begins a session, and opens its stream, with these header fields. */
export async function sessionStream(send: Send, headers: Record<string, string>) {
  const session = await LegacySession.begin(send, headers);
  const stream = await streamOf(await session.get(headers));
  await stream.event();
  return { session, stream };
}

/** The upstream server, of the official SDK. */
export function sdkServer(): McpServer {
  const server = new McpServer(
    { name: 'behind', version: '1.2.3' },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        logging: {},
      },
      instructions: 'Ask me.',
    },
  );
  server.registerResource('a', 'note://a', {}, () => ({
    contents: [{ uri: 'note://a', text: 'A' }],
  }));
  server.registerTool('hello', {}, () => ({ content: [{ type: 'text', text: 'Hello.' }] }));
  return server;
}
