import { createListenHandler, type ListenError, type ServerEvent } from 'mcp-listen';
import { broadcastChannelBus } from 'mcp-listen/broadcast-channel';
import { declaring } from '../options.ts';

/** What a tab or a thread does that holds streams on a bus of its kind. */
export interface BusMember {
  /** Opens a stream that is counted as `stream`; answers the status. */
  open(stream: number, headers: Record<string, string>, body: string): Promise<number>;
  drop(stream: number): void;
  /** Publishes events together; answers the code of what went wrong. */
  publish(events: ServerEvent[]): Promise<string | undefined>;
  /** Says something on the channel that no bus has written. */
  say(text: string): void;
  stats(): { open: number; away: number; healed: number; resyncs: number; dropped: number };
  close(): Promise<void>;
}

declare global {
  var member: BusMember;
  /** Is told what a stream says; null: it has ended. */
  var heard: (stream: number, text: string | null) => Promise<void>;
}

const onError = () => {};
const capabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
};
const bus = broadcastChannelBus({ onError });
const server = createListenHandler(() => new Response(), {
  bus,
  server: declaring(capabilities),
  onError,
});
const streams = new Map<number, AbortController>();

globalThis.member = {
  async open(stream, headers, body) {
    const abort = new AbortController();
    const init = { method: 'POST', headers, body, signal: abort.signal };
    const response = await server.fetch(new Request('http://localhost/mcp', init));
    if (response.status !== 200 || response.body === null) return response.status;
    streams.set(stream, abort);
    void tell(stream, response.body);
    return 200;
  },
  drop(stream) {
    streams.get(stream)?.abort();
  },
  publish: (events) =>
    bus.publishAll(events).then(
      () => undefined,
      (error: ListenError) => error.code,
    ),
  say(text) {
    const channel = new BroadcastChannel('mcp-listen');
    channel.postMessage(text);
    channel.close();
  },
  stats: () => ({ ...server.stats(), dropped: bus.stats().dropped }),
  close: () => bus.close(),
};

async function tell(stream: number, body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read();
    await heard(stream, done ? null : decoder.decode(value, { stream: true }));
    if (done) return;
  }
}
