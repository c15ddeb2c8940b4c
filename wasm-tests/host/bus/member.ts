import { createListenHandler, type ListenError, type ServerEvent } from 'mcp-listen';
import { broadcastChannelBus } from 'mcp-listen/broadcast-channel';
import { CAPABILITIES, declaring } from '../options.ts';

/** A tab or a thread that holds streams on a `BroadcastChannel` bus. */
export interface BusMember {
  /** Opens a stream with the number `stream`; resolves with the HTTP status. */
  open(stream: number, headers: Record<string, string>, body: string): Promise<number>;
  drop(stream: number): void;
  /** Publishes events together; resolves with the code of the error, if any. */
  publish(events: ServerEvent[]): Promise<string | undefined>;
  /** Sends a message on the channel that is not of a bus. */
  sendGarbage(text: string): void;
  stats(): { open: number; away: number; healed: number; resyncs: number; dropped: number };
  close(): Promise<void>;
}

declare global {
  var member: BusMember;
  /** Receives the text of a stream; null at its end. */
  var received: (stream: number, text: string | null) => Promise<void>;
}

const onError = () => {};
const bus = broadcastChannelBus({ onError });
const server = createListenHandler(() => new Response(), {
  bus,
  server: declaring(CAPABILITIES),
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
    void forward(stream, response.body);
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
  sendGarbage(text) {
    const channel = new BroadcastChannel('mcp-listen');
    channel.postMessage(text);
    channel.close();
  },
  stats: () => ({ ...server.stats(), dropped: bus.stats().dropped }),
  close: () => bus.close(),
};

async function forward(stream: number, body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read();
    await received(stream, done ? null : decoder.decode(value, { stream: true }));
    if (done) return;
  }
}
