import { clientGuard } from '../../wasm/client/guard.js';
import { now, WakeTimer } from '../clock.js';
import type { ClientListenOptions } from '../options.js';
import { type CoreSource, type News, nextNews } from '../transport/core-source.js';
import { open } from '../transport/open.js';
import type { ListenTarget } from '../transport/target.js';
import type { Emit, WatchSource, WatchStatus } from './watch-events.js';

/**
 * Passes on the news of a subscription that the core keeps reopening. After a trap of the core it
 * opens a new one.
 */
export class WatchLoop implements WatchSource {
  readonly #target: ListenTarget;
  readonly #filter: string;
  readonly #options: ClientListenOptions;
  readonly #tell: Emit;
  #source: CoreSource | undefined;
  #opened = 0;
  #isStopped = false;
  #trappedAt = Number.NEGATIVE_INFINITY;
  #wakes = (): void => {};

  constructor(target: ListenTarget, filter: string, options: ClientListenOptions, tell: Emit) {
    this.#target = target;
    this.#filter = filter;
    this.#options = options;
    this.#tell = tell;
    // If the core traps here, `#run` retries at once.
    clientGuard.ignoringTrap(() => {
      this.#source = this.#open();
    });
    addListener('online', this.#online);
    void this.#run();
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    removeListener('online', this.#online);
    this.#source?.close();
    this.#wakes();
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const trap = await this.#follow();
      if (trap !== undefined && !this.#isStopped) await this.#rest(trap.cause);
    }
  }

  /**
   * Passes on the news of one source until the watch is stopped. Returns the cause if the core
   * traps.
   */
  async #follow(): Promise<{ cause: unknown } | undefined> {
    try {
      this.#source ??= this.#open();
      for (;;) {
        const news = await nextNews(this.#source, () => this.#isStopped);
        if (news === undefined) return undefined;
        if (news.kind === 'stopped' && news.end.code === 'core-trapped') return news;
        this.#pass(news);
      }
    } catch (error) {
      if (!clientGuard.isTrapError(error)) throw error;
      return { cause: (error as Error).cause };
    } finally {
      this.#source?.close();
      this.#source = undefined;
    }
  }

  #open(): CoreSource {
    const source = open(this.#target, this.#filter, this.#options, true);
    this.#stand({ state: 'connecting' });
    return source;
  }

  #pass(news: News): void {
    const { kind } = news;
    if (kind === 'live') this.#opened += 1;
    if (kind === 'changed') this.#tell(news);
    else if (kind === 'connecting') this.#stand({ state: kind });
    else if (kind === 'live') this.#stand({ state: kind, honored: news.honored });
    else this.#stand({ state: kind, end: news.end }, news.cause);
    if (kind === 'stopped') this.stop();
  }

  /**
   * Waits briefly after the first trap, and longer after another one within 30 seconds: the core
   * lost its count of attempts.
   */
  async #rest(cause: unknown): Promise<void> {
    this.#stand({ state: 'waiting', end: { code: 'core-trapped' } }, cause);
    if (this.#isStopped) return;
    const time = now();
    const ceiling = time - this.#trappedAt > RESTART_COOLDOWN_MS ? SOON_MS : RESTART_COOLDOWN_MS;
    this.#trappedAt = time;
    await new Promise<void>((resolve) => {
      const timer = new WakeTimer(resolve);
      timer.set(time + Math.random() * ceiling);
      this.#wakes = () => {
        timer.set(undefined);
        resolve();
      };
    });
  }

  #stand(standing: Omit<WatchStatus, 'reconnects'>, cause?: unknown): void {
    this.#tell({
      kind: 'standing',
      standing: { ...standing, reconnects: Math.max(this.#opened - 1, 0) },
      cause,
    });
  }

  /** Handles the return of the network. */
  readonly #online = (): void => {
    this.#source?.online();
    this.#wakes();
  };
}

/** Adds a listener to the global scope. Only pages and their workers have `online` events. */
function addListener(name: string, listener: () => void): void {
  (globalThis as Partial<EventTarget>).addEventListener?.(name, listener);
}

function removeListener(name: string, listener: () => void): void {
  (globalThis as Partial<EventTarget>).removeEventListener?.(name, listener);
}

/** The first and the last upper bound of the core's backoff, in milliseconds. */
const SOON_MS = 500;
const RESTART_COOLDOWN_MS = 30_000;
