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

/** What a tool of the SDK has at hand when it changes something. */
export interface Kit {
  server: McpServer;
  context: ServerContext;
  tool: RegisteredTool;
  prompt: RegisteredPrompt;
  resource: RegisteredResource;
}

/** What a tool does when it is called. */
export type Change = (kit: Kit) => unknown;

/**
 * The factory of servers with something of each kind, and with the tool `change`, which makes
 * `change`.
 */
export function changingServer(change: Change): () => McpServer {
  return () => {
    const server = new McpServer(
      { name: 'changing', version: '1.0.0' },
      { capabilities: { resources: { subscribe: true } } },
    );
    const tool = server.registerTool('tool', {}, said);
    const prompt = server.registerPrompt('prompt', {}, asked);
    const resource = server.registerResource('resource', 'note://a', {}, read);
    server.registerTool('change', {}, async (context: ServerContext) => {
      await change({ server, context, tool, prompt, resource });
      return said();
    });
    return server;
  };
}

/** A tool's answer. */
export const said = () => ({ content: [{ type: 'text' as const, text: 'Done.' }] });
/** A prompt's answer. */
export const asked = () => ({ messages: [] });
/** A resource's content. */
export const read = () => ({ contents: [] });
/** Resources by a pattern. */
export const template = () => new ResourceTemplate('note://{name}', { list: undefined });

/** The request that calls the tool `change`, as a client of either revision sends it. */
export function calling(era: '2026-07-28' | '2025-11-25'): Request {
  const params = { name: 'change', arguments: {} };
  if (era === '2026-07-28') return callRequest(URL, 'tools/call', params);
  return new Request(URL, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
}

/**
 * What a call of `change` has published by the time that it is answered, call of the bus by call,
 * and the answer.
 */
export async function published(change: Change, era: '2026-07-28' | '2025-11-25' = '2026-07-28') {
  const { bus, told } = recording();
  const handler = createMcpHandler(publishChanges(changingServer(change), bus));
  const answer = await (await handler.fetch(calling(era))).text();
  return { told, answer };
}

/** A bus, and what it is told of. */
export function recording() {
  const told: ServerEvent[][] = [];
  const bus = new InMemoryBus({ onError: () => {} });
  const publishAll = bus.publishAll.bind(bus);
  vi.spyOn(bus, 'publishAll').mockImplementation((events) => {
    told.push(events);
    return publishAll(events);
  });
  return { bus, told };
}

/** The same for a bus of the SDK. */
export function recordingSdkBus() {
  const told: unknown[] = [];
  const bus = new InMemoryServerEventBus();
  bus.subscribe((event) => told.push(event));
  return { bus, told };
}
