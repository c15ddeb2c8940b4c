import type { SubscriptionFilter } from '../filter.js';
import { WakeTimer } from './clock.js';
import type { CoreEnd } from './error.js';
import { clientLife } from './life.js';
import { open } from './open.js';
import type { ListenOptions } from './options.js';
import { Renewal } from './renewal.js';
import type { Source } from './source.js';
import { nextNews } from './subscription.js';
import type { ListenTarget } from './target.js';
import type { Tell, WatchLine, WatchStanding } from './watch-news.js';

/** Opens a subscription again and again, when the core says so. */
export class WatchLoop implements WatchLine {
  readonly #target: ListenTarget;
  readonly #filter: string;
  readonly #options: ListenOptions;
  readonly #tell: Tell;
  readonly #renewal = new Renewal();
  /** What the server was found to speak. */
  #era: ListenOptions['era'];
  #source: Source | undefined;
  #minted = 0;
  #opened = 0;
  #isStopped = false;
  #isPatient = false;
  #wakes = (): void => {};

  constructor(target: ListenTarget, filter: string, options: ListenOptions, tell: Tell) {
    this.#target = target;
    this.#filter = filter;
    this.#options = options;
    this.#tell = tell;
    // Where the core traps, it is tried once more at once.
    clientLife.surviving(() => {
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
    this.#renewal.free();
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const ended = await this.#attempt();
      if (ended !== undefined && !this.#isStopped) await this.#rest(ended.end, ended.cause);
    }
  }

  /** One subscription, from its beginning to its end. */
  async #attempt() {
    try {
      this.#source ??= this.#open();
      return await this.#follow(this.#source);
    } catch (error) {
      if (!clientLife.isOfTrap(error)) throw error;
      return { end: { code: 'core-trapped' }, cause: (error as Error).cause };
    } finally {
      this.#minted = this.#source?.minted ?? this.#minted;
      this.#source?.close();
      this.#source = undefined;
    }
  }

  #open(): Source {
    const source = open(this.#target, this.#filter, { ...this.#options, era: this.#known() }, this.#minted);
    this.#stand({ state: 'connecting' });
    return source;
  }

  /** Tells what a subscription tells, until it ends. */
  async #follow(source: Source) {
    for (;;) {
      const news = await nextNews(source, () => this.#isStopped);
      if (news === undefined || news.kind === 'ended') return news;
      if (news.kind === 'changed') this.#tell(news);
      else this.#live(source, news.honored);
    }
  }

  #live(source: Source, honored: SubscriptionFilter): void {
    this.#opened += 1;
    this.#era = source.version === '2026-07-28' ? '2026-07-28' : '2025';
    this.#renewal.live(Object.keys(honored).length === 0);
    this.#stand({ state: 'live', honored });
  }

  async #rest(end: CoreEnd, cause: unknown): Promise<void> {
    const until = this.#until(end);
    this.#stand({ state: until === undefined ? 'stopped' : 'waiting', end }, cause);
    if (until === undefined) this.stop();
    if (until === undefined || this.#isStopped) return;
    await new Promise<void>((resolve) => {
      const timer = new WakeTimer(resolve);
      timer.set(until);
      this.#wakes = () => {
        timer.set(undefined);
        resolve();
      };
      // What a server asks for is waited out, whatever the network does.
      this.#isPatient = end.retryAfterMs !== undefined;
    });
  }

  /** When to open the next; undefined: never. */
  #until(end: CoreEnd): number | undefined {
    const { code, status = 0, rpcCode, retryAfterMs } = end;
    if (code === 'core-trapped') return this.#renewal.trapped();
    // The next attempt would be sent to the same other place.
    if (code === 'redirected') return undefined;
    if (code === 'graceful') return this.#renewal.next((core, time) => core.closed(time));
    if (code !== 'refused') return this.#renewal.next((core, time) => core.lost(retryAfterMs, time));
    // What is refused in the way that the server was known to speak is asked anew in the other way first.
    const isDoubtful = this.#era !== undefined && this.#known() !== this.#options.era && !isPassing(status);
    if (!isDoubtful) return this.#renewal.next((core, time) => core.refused(status, rpcCode, retryAfterMs, time));
    this.#era = undefined;
    return this.#renewal.next((core, time) => core.lost(retryAfterMs, time));
  }

  #known(): NonNullable<ListenOptions['era']> {
    const { era = 'auto' } = this.#options;
    return era === 'auto' ? (this.#era ?? 'auto') : era;
  }

  #stand(standing: Omit<WatchStanding, 'reconnects'>, cause?: unknown): void {
    this.#tell({ kind: 'standing', standing: { ...standing, reconnects: Math.max(this.#opened - 1, 0) }, cause });
  }

  /** The network is back: nobody waits for it any longer. */
  readonly #online = (): void => {
    if (!this.#isPatient) this.#wakes();
  };
}

/** Refusals of the caller and of the moment say nothing about what a server speaks. */
function isPassing(status: number): boolean {
  return [401, 403, 408, 429].includes(status) || status >= 500;
}

/** Only pages and their workers hear of the network. */
function addListener(name: string, listener: () => void): void {
  (globalThis as Partial<EventTarget>).addEventListener?.(name, listener);
}

function removeListener(name: string, listener: () => void): void {
  (globalThis as Partial<EventTarget>).removeEventListener?.(name, listener);
}
