import { calling } from '../../model/error.js';
import type { ChangeEvent } from '../../model/event.js';
import type { SubscriptionFilter } from '../../model/filter.js';
import type { CoreEnd } from '../../model/subscription-error.js';
import { deferred } from '../../timing/deferred.js';
import {
  type ClientApproach,
  type ClientNews,
  type ClientTransfer,
  ClientWatch,
} from '../../wasm/client/bindings.js';
import { clientGuard } from '../../wasm/client/guard.js';
import { now, WakeTimer } from '../clock.js';
import { type ClientListenOptions, DEFAULTS, infoOf } from '../options.js';

/** A request or message that the core wants sent. */
export type Outgoing = Extract<ClientTransfer, { kind: 'send' }>;

/** A change of state of a subscription, or an event that it received. */
export type News =
  | { kind: 'connecting' }
  | {
      kind: 'live';
      honored: SubscriptionFilter;
      id: string | undefined;
      version: string | undefined;
    }
  | { kind: 'changed'; event: ChangeEvent }
  | { kind: 'waiting' | 'stopped'; end: CoreEnd; cause: unknown };

/**
 * A subscription whose protocol logic runs in the core. This class moves the core's input and
 * output.
 */
export abstract class CoreSource {
  /** Called when there may be news. */
  wake = (): void => {};
  /** The last network error: the cause of a lost subscription. */
  protected cause: unknown;
  /**
   * Undefined after a trap of the core and after `close`. Freed explicitly, since some hosts have
   * no finalizers.
   */
  #machine: ClientWatch | undefined;
  readonly #timer = new WakeTimer(() => this.at((machine, time) => machine.timeout(time)));
  readonly #log: ClientListenOptions['onMessage'];
  readonly #leaveCore: () => void;
  /** The error of the trap, if the core trapped. */
  #trap: Error | undefined;
  /** The final news of a subscription that ended because the core trapped. */
  #lapsed: News | undefined;
  /** Whether there are no requests to abort and no channel to leave. */
  #isReleased = true;

  /**
   * Without `way` the subscription runs on a channel. With `opensAgain` it reopens whenever it
   * ends.
   */
  constructor(
    filter: string,
    way: ClientApproach | undefined,
    options: ClientListenOptions,
    opensAgain: boolean,
  ) {
    const { ackTimeoutMs, maxSilenceMs } = { ...DEFAULTS, ...options };
    const limits = [ackTimeoutMs, maxSilenceMs] as const;
    const isTapped = options.onMessage !== undefined;
    const info = infoOf(options);
    // Ids continue in a new range after a reset: the server may not know yet that the requests of
    // the previous instance are over.
    const minted = clientGuard.generation * IDS_A_LIFE;
    this.#machine = calling(
      () =>
        new ClientWatch(
          filter,
          way,
          info,
          ...limits,
          isTapped,
          opensAgain,
          minted,
          Math.random(),
          now(),
        ),
    );
    this.#log = options.onMessage;
    const { promise, resolve } = deferred();
    this.#leaveCore = clientGuard.onReset((error) => {
      this.#trap ??= error;
      resolve();
    });
    // Runs later in the context of this listener, not in that of the request that called the core.
    void promise.then(() => this.#lapse());
  }

  /**
   * Takes the next news. Returns undefined if there is none now; `wake` is called when there is.
   */
  news(): News | undefined {
    const told = this.#ask((machine) => machine.news(now()));
    if (told === undefined) return this.#lapsed;
    const news = this.#read(told);
    this.pump();
    return news;
  }

  /** Handles the return of the network. */
  online(): void {
    this.at((machine, time) => machine.online(time));
  }

  /** Ends the subscription and notifies the server. */
  close(): void {
    this.#ask((machine) => machine.cancel());
    this.pump();
    this.#leaveCore();
    const machine = this.#machine;
    if (machine === undefined) return;
    this.#machine = undefined;
    // Deferred, since `close` may run inside a call of the core.
    queueMicrotask(() => machine.free());
  }

  /** Joins the channel. */
  protected abstract join(): void;
  /** Sends a request or message of the core. */
  protected abstract send(outgoing: Outgoing): void;
  /** Closes the response to a request. */
  protected abstract drop(call: number): void;
  /** Aborts all requests. Messages sent afterwards only notify the server of the end. */
  protected abstract release(): void;
  /** Called after the last message to the server was sent. */
  protected abstract leave(): void;

  /** Whether there is no subscription now. */
  protected get isReleased(): boolean {
    return this.#isReleased;
  }

  /** Passes input to the core with the current time, and handles its output. */
  protected at<T>(input: (machine: ClientWatch, time: number) => T): T | undefined {
    const answer = this.#ask((machine) => input(machine, now()));
    this.pump();
    return answer;
  }

  /** Handles the output of the core, and wakes the reader of the news. */
  protected pump(): void {
    this.#ask((machine) => this.#pump(machine));
  }

  #pump(machine: ClientWatch): void {
    this.#tell(machine);
    const { isEnded } = machine;
    const ends = isEnded && !this.#isReleased;
    this.#isReleased = isEnded;
    if (ends) this.release();
    for (let next = machine.transfer(); next !== undefined; next = machine.transfer())
      this.#transfer(next);
    if (ends) this.leave();
    this.#timer.set(machine.deadline);
    this.wake();
  }

  /** Calls the core. Returns undefined if the source is closed, or if the core has trapped. */
  #ask<T>(question: (machine: ClientWatch) => T): T | undefined {
    if (this.#machine === undefined) return undefined;
    try {
      return question(this.#machine);
    } catch (error) {
      if (!clientGuard.isTrapError(error)) throw error;
      this.#trap ??= error as Error;
      this.#lapse();
      return undefined;
    }
  }

  #read(news: ClientNews): News {
    if (news.kind === 'connecting') return news;
    if (news.kind === 'live') return { ...news, honored: JSON.parse(news.honored) };
    if (news.kind === 'changed') return { ...news, event: JSON.parse(news.event) };
    const { cause } = this;
    this.cause = undefined;
    return { ...news, cause };
  }

  /** Ends the subscription after a trap: its state in the core is lost. */
  #lapse(): void {
    if (this.#machine === undefined) return;
    this.#machine = undefined;
    this.#lapsed = { kind: 'stopped', end: { code: 'core-trapped' }, cause: this.#trap?.cause };
    this.#leaveCore();
    this.#timer.set(undefined);
    if (!this.#isReleased) {
      this.#isReleased = true;
      this.release();
      this.leave();
    }
    this.wake();
  }

  #transfer(transfer: ClientTransfer): void {
    if (transfer.kind === 'close') this.drop(transfer.call);
    else if (transfer.kind === 'send') this.#send(transfer);
    else {
      this.#isReleased = false;
      this.join();
    }
  }

  #send(outgoing: Outgoing): void {
    if (outgoing.body !== undefined)
      this.#log?.({ at: Date.now(), direction: 'out', text: outgoing.body });
    this.send(outgoing);
  }

  #tell(machine: ClientWatch): void {
    for (let bytes = machine.message(); bytes !== undefined; bytes = machine.message())
      this.#log?.({ at: Date.now(), direction: 'in', text: decoder.decode(bytes) });
  }
}

/** Waits for the next news of a source. Returns undefined once `isClosed` returns true. */
export async function nextNews(
  source: CoreSource,
  isClosed: () => boolean,
): Promise<News | undefined> {
  for (;;) {
    if (isClosed()) return undefined;
    const news = source.news();
    if (news !== undefined) return news;
    await new Promise<void>((resolve) => {
      source.wake = resolve;
    });
  }
}

/** Decodes messages for logs: replaces invalid UTF-8. */
const decoder = new TextDecoder(undefined, { ignoreBOM: true });
const IDS_A_LIFE = 1_000_000;
