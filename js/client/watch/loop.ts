import { clientGuard } from '../../wasm/client/guard.js';
import { Backoff } from '../backoff.js';
import { now, WakeTimer } from '../clock.js';
import type { ClientListenOptions } from '../options.js';
import { type CoreSource, nextEvent, type SourceEvent } from '../transport/core-source.js';
import { open } from '../transport/open.js';
import type { ListenTarget } from '../transport/target.js';
import type { Emit, WatchSource, WatchStatus } from './status.js';

/**
 * Passes on the events of a subscription that the core keeps reopening. After a trap of the core
 * it opens a new one.
 */
export class WatchLoop implements WatchSource {
  readonly #target: ListenTarget;
  readonly #filter: string;
  readonly #options: ClientListenOptions;
  readonly #emit: Emit;
  #source: CoreSource | undefined;
  #opened = 0;
  #isStopped = false;
  readonly #backoff = new Backoff();
  #trappedAt = Number.NEGATIVE_INFINITY;
  #wake = (): void => {};

  constructor(target: ListenTarget, filter: string, options: ClientListenOptions, emit: Emit) {
    this.#target = target;
    this.#filter = filter;
    this.#options = options;
    this.#emit = emit;
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
    this.#wake();
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const trap = await this.#follow();
      if (trap !== undefined && !this.#isStopped) await this.#backOff(trap.cause);
    }
  }

  /**
   * Passes on the events of one source until the watch is stopped. Returns the cause if the core
   * traps.
   */
  async #follow(): Promise<{ cause: unknown } | undefined> {
    try {
      this.#source ??= this.#open();
      for (;;) {
        const event = await nextEvent(this.#source, () => this.#isStopped);
        if (event === undefined) return undefined;
        if (event.kind === 'stopped' && event.end.code === 'core-trapped') return event;
        this.#handle(event);
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
    this.#setStatus({ state: 'connecting' });
    return source;
  }

  #handle(event: SourceEvent): void {
    const { kind } = event;
    if (kind === 'live') this.#opened += 1;
    if (kind === 'changed') this.#emit(event);
    else if (kind === 'connecting') this.#setStatus({ state: kind });
    else if (kind === 'live') this.#setStatus({ state: kind, honored: event.honored });
    else this.#setStatus({ state: kind, end: event.end }, event.cause);
    if (kind === 'stopped') this.stop();
  }

  /** Waits after a trap, in which the core has lost its count of attempts. */
  async #backOff(cause: unknown): Promise<void> {
    this.#setStatus({ state: 'waiting', end: { code: 'core-trapped' } }, cause);
    if (this.#isStopped) return;
    const time = now();
    if (time - this.#trappedAt > STABLE_MS) this.#backoff.reset();
    this.#trappedAt = time;
    await new Promise<void>((resolve) => {
      const timer = new WakeTimer(resolve);
      timer.set(time + this.#backoff.next());
      this.#wake = () => {
        timer.set(undefined);
        resolve();
      };
    });
  }

  #setStatus(status: Omit<WatchStatus, 'reconnects'>, cause?: unknown): void {
    this.#emit({
      kind: 'status',
      status: { ...status, reconnects: Math.max(this.#opened - 1, 0) },
      cause,
    });
  }

  /** Handles the return of the network. */
  readonly #online = (): void => {
    this.#source?.online();
    this.#wake();
  };
}

/** Adds a listener to the global scope. Only pages and their workers have `online` events. */
function addListener(name: string, listener: () => void): void {
  (globalThis as Partial<EventTarget>).addEventListener?.(name, listener);
}

function removeListener(name: string, listener: () => void): void {
  (globalThis as Partial<EventTarget>).removeEventListener?.(name, listener);
}

/** Milliseconds without a trap after which the next one counts as the first. */
const STABLE_MS = 30_000;
