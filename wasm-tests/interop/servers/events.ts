import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createListenHandler, InMemoryBus } from 'mcp-listen';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { startWorkerd } from '../../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../host/bundle.ts';
import { serveOnNode } from '../../host/node-http.ts';
import { discovering } from '../../host/servers/discovering.ts';
import { pythonEventsServer } from './python.ts';

/** A server with the event type `noted`, whose argument `topic` selects occurrences. */
export interface EventsServer {
  url: string;
  publish(topic: string, id: string, text?: string): Promise<unknown>;
  /** Disconnects a caller. */
  disconnect(caller: string): Promise<unknown>;
  stop(): Promise<unknown>;
}

/** Serves events from a bus in memory. */
export async function onNode(): Promise<EventsServer> {
  const types = { noted: { match: { topic: '/topic' } } };
  const events = defineEvents(types, { webhooks: { allowInsecureLocalhost: true } });
  const handler = createListenHandler(discovering, {
    bus: new InMemoryBus({ events: eventLog({ webhooks: events, logBytes: 200_000 }) }),
    events,
    principal: (request) => request.headers.get('authorization') ?? undefined,
  });
  const node = await serveOnNode((request) => handler.fetch(request));
  return {
    url: `${node.origin}/mcp`,
    publish: (topic, id, text) => handler.notify.event('noted', { topic, text }, { id }),
    disconnect: (caller) => handler.disconnect(caller),
    stop: () => node.stop(),
  };
}

/** Serves events from separate objects, and publishes in another isolate than it serves in. */
export async function onWorkerd(): Promise<EventsServer> {
  const workerd = await startWorkerd({
    bundle: await bundleWorker('wasm-tests/workerd/fixture/webhooks'),
    durableObjects: [{ binding: 'MCP_BUS', className: 'HookBus' }],
    edges: 2,
    reachesLocal: true,
  });
  const [here = '', there = ''] = workerd.edges;
  return {
    url: `${here}/mcp`,
    publish: (topic, id, text = '') => post(`${there}/notify`, 'noted', topic, id, text),
    disconnect: (caller) => post(`${there}/disconnect`, caller),
    stop: async () => workerd.stop(),
  };
}

/** Serves events by the package `mcp-webhook-events`. */
export async function onPython(): Promise<EventsServer> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-listen-events-'));
  const server = await pythonEventsServer(join(folder, 'store.sqlite3'));
  return {
    url: server.url,
    publish: (topic, id, text = '') => post(`${server.url}/notify`, topic, id, text),
    disconnect: async () => {
      throw new Error('mcp-webhook-events cannot disconnect a caller');
    },
    stop: async () => {
      server.stop();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function post(url: string, ...body: string[]): Promise<void> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
}
