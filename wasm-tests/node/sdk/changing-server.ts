import {
  createMcpHandler,
  InMemoryServerEventBus,
  McpServer,
  type RegisteredPrompt,
  type RegisteredResource,
  type RegisteredTool,
  ResourceTemplate,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { InMemoryBus, publishChanges, type ServerEvent } from 'mcp-listen';
import { vi } from 'vitest';
import { callRequest } from '../../host/call.ts';
import { URL } from '../serving.ts';

/** What a tool of the SDK can change. */
export interface Kit {
  server: McpServer;
  context: ServerContext;
  tool: RegisteredTool;
  prompt: RegisteredPrompt;
  resource: RegisteredResource;
}

/** The change that a tool makes when it is called. */
export type Change = (kit: Kit) => unknown;

/**
 * Returns a factory of servers with one tool, prompt and resource, and with the tool `change`,
 * which makes `change`.
 */
export function changingServer(change: Change): () => McpServer {
  return () => {
    const server = new McpServer(
      { name: 'changing', version: '1.0.0' },
      { capabilities: { resources: { subscribe: true } } },
    );
    const tool = server.registerTool('tool', {}, toolResult);
    const prompt = server.registerPrompt('prompt', {}, promptResult);
    const resource = server.registerResource('resource', 'note://a', {}, readResource);
    server.registerTool('change', {}, async (context: ServerContext) => {
      await change({ server, context, tool, prompt, resource });
      return toolResult();
    });
    return server;
  };
}

/** The response of a tool. */
export const toolResult = () => ({ content: [{ type: 'text' as const, text: 'Done.' }] });
/** The response of a prompt. */
export const promptResult = () => ({ messages: [] });
/** The content of a resource. */
export const readResource = () => ({ contents: [] });
/** A template of resources. */
export const template = () => new ResourceTemplate('note://{name}', { list: undefined });

/** The request that calls the tool `change`, as a client of either revision sends it. */
export function calling(revision: '2026-07-28' | '2025-11-25'): Request {
  const params = { name: 'change', arguments: {} };
  if (revision === '2026-07-28') return callRequest(URL, 'tools/call', params);
  return new Request(URL, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
}

/**
 * Calls the tool `change`; returns the batches that it has published when it responds, and the
 * response.
 */
export async function published(
  change: Change,
  revision: '2026-07-28' | '2025-11-25' = '2026-07-28',
) {
  const { bus, batches } = recording();
  const handler = createMcpHandler(publishChanges(changingServer(change), bus));
  const text = await (await handler.fetch(calling(revision))).text();
  return { batches, text };
}

/** A bus, and the batches that are published on it. */
export function recording() {
  const batches: ServerEvent[][] = [];
  const bus = new InMemoryBus({ onError: () => {} });
  const publishAll = bus.publishAll.bind(bus);
  vi.spyOn(bus, 'publishAll').mockImplementation((events) => {
    batches.push(events);
    return publishAll(events);
  });
  return { bus, batches };
}

/** A bus of the SDK, and the events that are published on it. */
export function recordingSdkBus() {
  const events: unknown[] = [];
  const bus = new InMemoryServerEventBus();
  bus.subscribe((event) => events.push(event));
  return { bus, events };
}
