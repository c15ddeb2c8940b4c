import type { Emit, WatchEvent, WatchSource, WatchStatus } from './watch-events.js';

/** What tabs say to each other: news of the one that holds the stream, or that somebody wants to know where it stands. */
type Word = { kind: 'ask' } | { kind: 'news'; news: WatchEvent };

/** Whether this host can share a stream: pages of one origin can, where the context is secure. */
export function canShare(): boolean {
  return 'BroadcastChannel' in globalThis && globalThis.navigator?.locks !== undefined;
}

/**
 * One stream for all tabs: who holds the lock keeps it open and tells the others. When that tab goes, the browser gives
 * the lock to the next, which opens the stream anew.
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
    // What is aborted here was stopped, and nobody waits for it.
    navigator.locks.request(name, { signal }, () => this.#lead()).catch(() => {});
  }

  stop(): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort();
    this.#line?.stop();
    this.#channel.close();
  }

  /** Holds the lock until it is stopped. */
  #lead(): Promise<void> {
    const { signal } = this.#stop;
    this.#line = this.#begin((news) => {
      if (news.kind === 'standing') this.#standing = news.standing;
      // First, for who is told that it is over stops, and a line that was stopped says nothing.
      this.#pass(news);
      this.#tell(news);
    });
    return new Promise((resolve) =>
      signal.addEventListener('abort', () => this.#release(resolve), { once: true }),
    );
  }

  #release(release: () => void): void {
    // Where the server has stopped it, the others hear of that before one of them could ask the same again.
    if (this.#standing?.state === 'stopped') setTimeout(release, HEAD_START_MS);
    else release();
  }

  /** An error of this tab cannot be cloned for another: the standing says what it was. */
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

  /** An answer to another tab may be no news here. */
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

/** A word and a lock reach another tab in ways of their own. */
const HEAD_START_MS = 500;
