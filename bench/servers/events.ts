import { createListenHandler, InMemoryBus } from 'mcp-listen';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { callRequest } from '../../wasm-tests/host/call.ts';
import { type ClosableServer, MANY_STREAMS } from './server.ts';
import { CAPABILITIES, SERVER_INFO } from './server-info.ts';

/**
 * mcp-listen with MCP Events: a listen for a resource becomes a stream of the events about it, and
 * a change of the resource is an event whose payload names it.
 */
export function eventServer(): ClosableServer {
  const { close, fetch, notify } = createListenHandler(() => new Response(null, { status: 404 }), {
    bus: new InMemoryBus({ events: eventLog() }),
    events: defineEvents({ changed: { match: { uri: '/uri' } } }),
    server: { info: SERVER_INFO, capabilities: CAPABILITIES },
    // The longest interval between heartbeats that streams of events may have.
    keepAliveMs: 25_000,
    limits: { maxSubscriptions: MANY_STREAMS, namesBytes: 2 ** 30 },
  });
  let published = 0;
  return {
    close,
    fetch: async (request) => fetch(await streamRequest(request)),
    publish: (uri) => {
      published += 1;
      // Ids of equal length, so that all frames of a stream have the same length.
      return notify.event('changed', { uri }, { id: String(published).padStart(9, '0') });
    },
  };
}

async function streamRequest(request: Request): Promise<Request> {
  const { id, params } = (await request.json()) as Listen;
  const [uri] = params.notifications.resourceSubscriptions;
  const stream = callRequest(request.url, 'events/stream', { name: 'changed', arguments: { uri } });
  const { headers, method, url } = stream;
  // Not of a clone: after thousands of those the runtime compiles slower code for all bodies.
  const body = JSON.stringify({ ...((await stream.json()) as object), id });
  return new Request(url, { method, headers, body });
}

interface Listen {
  id: string | number;
  params: { notifications: { resourceSubscriptions: string[] } };
}
