import type { ListenBus } from '../bus/bus.js';
import type { CountedBus } from '../bus/operator/operator.js';
import { createListenHandler } from '../listen-handler.js';
import type { ServerEvent } from '../model/event.js';
import type { ListenStats } from '../model/stats/listen.js';

/** A process or an isolate that holds streams and publishes events. */
export interface BusPlace {
  /** Opens a stream. Rejects with the status in the message if it is refused. */
  open(filter: object): Promise<TestStream>;
  /** Publishes the events together. */
  publish(...events: ServerEvent[]): Promise<unknown>;
  /** Returns the statistics of its streams. */
  stats(): Promise<Pick<ListenStats, 'open' | 'away' | 'healed' | 'resyncs'>>;
}

/** A place whose bus counts the streams of callers in all places. */
export interface CountingPlace extends BusPlace {
  /** Opens a stream of the caller with this name. */
  open(filter: object, principal?: string): Promise<TestStream>;
  /** Returns how many streams the caller has. */
  listeners(principal: string): Promise<number>;
}

/** An open stream. */
export interface TestStream {
  /** Resolves with the next message as JSON text; undefined after the end of the stream. */
  message(): Promise<string | undefined>;
  /** Drops the connection. */
  drop(): void;
}

/** Creates a server on a bus, in this process. */
export function placeOn(bus: ListenBus & CountedBus): CountingPlace {
  const server = { info: { name: 'tests', version: '1.0.0' }, capabilities: CAPABILITIES };
  const handler = createListenHandler(() => new Response(null, { status: 404 }), {
    ...{ bus, server, timeouts: { attachMs: ATTACH_MS }, onError: () => {} },
    principal: ({ headers }) => headers.get(PRINCIPAL) ?? undefined,
  });
  return {
    async open(filter, principal) {
      const abort = new AbortController();
      const request = listenRequest(filter, abort.signal);
      if (principal !== undefined) request.headers.set(PRINCIPAL, principal);
      // Node propagates an abort to a request only while it is referenced.
      abort.signal.addEventListener('abort', () => void request);
      const { body, status } = await handler.fetch(request);
      if (status !== 200 || body === null) throw new Error(`status ${status}`);
      return { message: messagesOf(body), drop: () => abort.abort() };
    },
    publish: (...events) => bus.publishAll(events),
    listeners: (principal) => bus.listeners(principal),
    stats: async () => handler.stats(),
  };
}

function listenRequest(notifications: object, signal: AbortSignal): Request {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const body = {
    jsonrpc: '2.0',
    id: 1,
    method: 'subscriptions/listen',
    params: { _meta, notifications },
  };
  return new Request('http://localhost/mcp', {
    method: 'POST',
    headers: HEADERS,
    body: JSON.stringify(body),
    signal,
  });
}

/** Returns a reader of the messages of an event stream; it skips keep-alives. */
function messagesOf(body: ReadableStream<Uint8Array>): TestStream['message'] {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  return async () => {
    for (;;) {
      const [, message] =
        /^event: message\ndata: (.*)$/m.exec(text.slice(0, text.lastIndexOf('\n\n') + 1)) ?? [];
      if (message !== undefined) {
        text = text.slice(text.indexOf('\n\n', text.indexOf('event: message')) + 2);
        return message;
      }
      const { done, value } = await reader.read();
      if (done) return undefined;
      text += decoder.decode(value, { stream: true });
    }
  };
}

const REVISION = '2026-07-28';
const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': REVISION,
  'mcp-method': 'subscriptions/listen',
};
/** The header field that names the caller. */
const PRINCIPAL = 'x-principal';
const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
};
/** Milliseconds that a stream waits for the bus, which may be connecting: as long as a publish. */
const ATTACH_MS = 5_000;
