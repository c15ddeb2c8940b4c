import type { Emit, WatchEvent, WatchSource, WatchStatus } from './watch-events.js';

/**
 * A message between tabs: news from the tab that holds the stream, or a request for its status.
 */
type Word = { kind: 'ask' } | { kind: 'news'; news: WatchEvent };

/** Returns whether this host can share a stream: pages of one origin can in a secure context. */
export function canShare(): boolean {
  return 'BroadcastChannel' in globalThis && globalThis.navigator?.locks !== undefined;
}

/**
 * Shares one stream among tabs: the tab that holds the lock keeps the stream open and passes its
 * news to the others. When that tab closes, the browser gives the lock to the next tab, which opens
 * a new stream.
 */
export class TabSharing implements WatchSource {
  readonly #channel: BroadcastChannel;
  readonly #begin: (tell: Emit) => WatchSource;
  readonly #tell: Emit;
  readonly #stop = new AbortController();
  #line: WatchSource | undefined;
  #standing: WatchStatus | undefined;

  constructor(name: string, begin: (tell: Emit) => WatchSource, tell: Emit) {
    this.#begin = begin;
    this.#tell = tell;
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({ data }: MessageEvent<Word>) => this.#hear(data);
    this.#say({ kind: 'ask' });
    const { signal } = this.#stop;
    // The request for the lock rejects only when `stop` aborts it.
    navigator.locks.request(name, { signal }, () => this.#lead()).catch(() => {});
  }

  stop(): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort();
    this.#line?.stop();
    this.#channel.close();
  }

  /** Opens the stream and holds the lock until `stop`. */
  #lead(): Promise<void> {
    const { signal } = this.#stop;
    this.#line = this.#begin((news) => {
      if (news.kind === 'standing') this.#standing = news.standing;
      // Posts first: on the final status `#tell` stops this watch, and a stopped one posts nothing.
      this.#pass(news);
      this.#tell(news);
    });
    return new Promise((resolve) =>
      signal.addEventListener('abort', () => this.#release(resolve), { once: true }),
    );
  }

  #release(release: () => void): void {
    // After a stop by the server, the other tabs must receive the final status before one of them
    // gets the lock and sends the same request again.
    if (this.#standing?.state === 'stopped') setTimeout(release, HEAD_START_MS);
    else release();
  }

  /** Leaves out `cause`: an error cannot be cloned for another tab. The status has its code. */
  #pass(news: WatchEvent): void {
    const { kind } = news;
    this.#say({
      kind: 'news',
      news: kind === 'standing' ? { kind, standing: news.standing } : news,
    });
  }

  #hear(word: Word): void {
    if (word.kind === 'news' && this.#line === undefined) this.#follow(word.news);
    if (word.kind === 'ask' && this.#line !== undefined && this.#standing !== undefined)
      this.#say({ kind: 'news', news: { kind: 'standing', standing: this.#standing } });
  }

  /** Handles news from another tab. A reply to a third tab may repeat a known status. */
  #follow(news: WatchEvent): void {
    const isKnown =
      news.kind === 'standing' && JSON.stringify(news.standing) === JSON.stringify(this.#standing);
    if (isKnown) return;
    if (news.kind === 'standing') this.#standing = news.standing;
    this.#tell(news);
  }

  #say(word: Word): void {
    if (!this.#stop.signal.aborted) this.#channel.postMessage(word);
  }
}

/**
 * Milliseconds between the final status and the release of the lock: messages and locks reach other
 * tabs independently.
 */
const HEAD_START_MS = 500;
