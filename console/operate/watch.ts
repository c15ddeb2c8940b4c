import type { Snapshot } from 'mcp-listen';
import { bearer } from '../mcp/access/access.js';

/** Receives the events of a {@link Watch}. */
export interface WatchEvents {
  /** Called with each snapshot. */
  onSnapshot: (snapshot: Snapshot) => void;
  /** Called when the state changes, with a sentence for the user. */
  onState: (state: WatchState, text: string) => void;
}

/** `refused`: the server wants another token, or serves no statistics. */
export type WatchState = 'live' | 'waiting' | 'refused' | 'off';

/** Reads the stream of snapshots of the server of this page while it is on. */
export class Watch {
  readonly #events: WatchEvents;
  #current: AbortController | undefined;
  #after = 0;

  constructor(events: WatchEvents) {
    this.#events = events;
  }

  /** Starts to read, or starts again with another token. */
  start(token: string, hasCallers: boolean): void {
    this.#current?.abort();
    const current = new AbortController();
    this.#current = current;
    void this.#run(token, hasCallers, current.signal);
  }

  /** Stops reading. */
  stop(): void {
    this.#current?.abort();
    this.#current = undefined;
  }

  async #run(token: string, hasCallers: boolean, signal: AbortSignal): Promise<void> {
    let wait = MIN_WAIT_MS;
    while (!signal.aborted) {
      try {
        const body = await this.#open(token, hasCallers, signal);
        if (body === undefined) return;
        for await (const snapshot of snapshotsOf(body)) {
          if (signal.aborted) return;
          wait = MIN_WAIT_MS;
          this.#show(snapshot, token);
        }
      } catch {
        // The server or the network failed: try again.
      }
      if (signal.aborted) return;
      this.#events.onState('waiting', 'The server does not respond; trying again.');
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, MAX_WAIT_MS);
    }
  }

  /** Opens the stream; resolves with undefined if trying again is useless. */
  async #open(
    token: string,
    hasCallers: boolean,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array<ArrayBuffer>> | undefined> {
    const query = new URLSearchParams({ after: String(this.#after) });
    if (hasCallers) query.set('callers', '1');
    const headers = { accept: 'text/event-stream', ...bearer(token) };
    const response = await fetch(`./stats?${query}`, { headers, signal });
    if (response.ok && response.body !== null) return response.body;
    const reason = REFUSED[response.status];
    if (reason === undefined) throw new Error(`the server responded with ${response.status}`);
    if (!signal.aborted) this.#events.onState('refused', reason);
    return undefined;
  }

  #show(snapshot: Snapshot | undefined, token: string): void {
    if (snapshot === undefined) {
      this.#events.onState('waiting', 'The bus does not respond.');
      return;
    }
    this.#after = snapshot.log.at(-1)?.position ?? this.#after;
    this.#events.onState('live', token === '' ? PUBLIC_TEXT : 'watching');
    this.#events.onSnapshot(snapshot);
  }
}

/** Yields each snapshot of a stream, and undefined for each error that the server reports. */
async function* snapshotsOf(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<Snapshot | undefined> {
  let text = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    for (const event of events)
      yield event.startsWith('data: ') ? (JSON.parse(event.slice(6)) as Snapshot) : undefined;
  }
}

const REFUSED: Partial<Record<number, string>> = {
  401: 'Enter the operator token.',
  404: 'This server cannot be operated: it has no token for operators.',
};
const PUBLIC_TEXT = 'Watching without the token: topics, the log and actions need it.';
const MIN_WAIT_MS = 1_000;
const MAX_WAIT_MS = 10_000;
