import type { Emit, WatchEvent, WatchSource, WatchStatus } from './status.js';

/**
 * A message between tabs: an event from the tab that holds the stream, or a request for its
 * status.
 */
type TabMessage = { kind: 'ask' } | { kind: 'event'; event: WatchEvent };

/** Returns whether this host can share a stream: pages of one origin can in a secure context. */
export function canShare(): boolean {
  return 'BroadcastChannel' in globalThis && globalThis.navigator?.locks !== undefined;
}

/**
 * Shares one stream among tabs: the tab that holds the lock keeps the stream open and passes its
 * events to the others. When that tab closes, the browser gives the lock to the next tab, which
 * opens a new stream.
 */
export class TabSharing implements WatchSource {
  readonly #channel: BroadcastChannel;
  readonly #begin: (emit: Emit) => WatchSource;
  readonly #emit: Emit;
  readonly #stop = new AbortController();
  #source: WatchSource | undefined;
  #status: WatchStatus | undefined;

  constructor(name: string, begin: (emit: Emit) => WatchSource, emit: Emit) {
    this.#begin = begin;
    this.#emit = emit;
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({ data }: MessageEvent<TabMessage>) => this.#receive(data);
    this.#post({ kind: 'ask' });
    const { signal } = this.#stop;
    // The request for the lock rejects only when `stop` aborts it.
    navigator.locks.request(name, { signal }, () => this.#lead()).catch(() => {});
  }

  stop(): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort();
    this.#source?.stop();
    this.#channel.close();
  }

  /** Opens the stream and holds the lock until `stop`. */
  #lead(): Promise<void> {
    const { signal } = this.#stop;
    this.#source = this.#begin((event) => {
      if (event.kind === 'status') this.#status = event.status;
      // Posts first: on the final status `#emit` stops this watch, and a stopped one posts
      // nothing.
      this.#pass(event);
      this.#emit(event);
    });
    return new Promise((resolve) =>
      signal.addEventListener('abort', () => this.#release(resolve), { once: true }),
    );
  }

  #release(release: () => void): void {
    // After a stop by the server, the other tabs must receive the final status before one of them
    // gets the lock and sends the same request again.
    if (this.#status?.state === 'stopped') setTimeout(release, HEAD_START_MS);
    else release();
  }

  /** Leaves out `cause`: an error cannot be cloned for another tab. The status has its code. */
  #pass(event: WatchEvent): void {
    const { kind } = event;
    this.#post({
      kind: 'event',
      event: kind === 'status' ? { kind, status: event.status } : event,
    });
  }

  #receive(message: TabMessage): void {
    if (message.kind === 'event' && this.#source === undefined) this.#follow(message.event);
    if (message.kind === 'ask' && this.#source !== undefined && this.#status !== undefined)
      this.#post({ kind: 'event', event: { kind: 'status', status: this.#status } });
  }

  /** Handles an event from another tab. A reply to a third tab may repeat a known status. */
  #follow(event: WatchEvent): void {
    const isKnown =
      event.kind === 'status' && JSON.stringify(event.status) === JSON.stringify(this.#status);
    if (isKnown) return;
    if (event.kind === 'status') this.#status = event.status;
    this.#emit(event);
  }

  #post(message: TabMessage): void {
    if (!this.#stop.signal.aborted) this.#channel.postMessage(message);
  }
}

/**
 * Milliseconds between the final status and the release of the lock: messages and locks reach other
 * tabs independently.
 */
const HEAD_START_MS = 500;
