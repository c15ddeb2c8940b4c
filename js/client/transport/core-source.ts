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

/** What the core wants sent. */
export type Outgoing = Extract<ClientTransfer, { kind: 'send' }>;

/** What a subscription has to tell. */
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

/** A subscription whose rules are in the core: it says what to send and what it means, this moves it. */
export abstract class CoreSource {
  /** Called when there may be news. */
  wake = (): void => {};
  /** The last error of the network, which is the cause of a loss. */
  protected cause: unknown;
  /** Undefined after a trap of the core, and once closed: some hosts have no finalizers, so it is freed at once. */
  #machine: ClientWatch | undefined;
  readonly #timer = new WakeTimer(() => this.at((machine, time) => machine.timeout(time)));
  readonly #log: ClientListenOptions['onMessage'];
  readonly #leaveCore: () => void;
  /** What the core has trapped with. */
  #trap: Error | undefined;
  /** How it ended with the core. */
  #lapsed: News | undefined;
  /** Whether there is nothing to give back. */
  #isReleased = true;

  /** Without `way` it is on a channel. It opens again when it ends where it `opensAgain`. */
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
    // The server may not know yet that what the core asked for in an earlier life is over.
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
    // Later, in the context of the listener, not in that of the request that called the core.
    void promise.then(() => this.#lapse());
  }

  /** Takes what is to be told next; undefined: nothing now, and `wake` is called when there is. */
  news(): News | undefined {
    const told = this.#ask((machine) => machine.news(now()));
    if (told === undefined) return this.#lapsed;
    const news = this.#read(told);
    this.pump();
    return news;
  }

  /** The network is back. */
  online(): void {
    this.at((machine, time) => machine.online(time));
  }

  /** Gives it up, and tells the server. */
  close(): void {
    this.#ask((machine) => machine.cancel());
    this.pump();
    this.#leaveCore();
    const machine = this.#machine;
    if (machine === undefined) return;
    this.#machine = undefined;
    // Later, since this may run while the core is being asked.
    queueMicrotask(() => machine.free());
  }

  /** Joins the channel. */
  protected abstract join(): void;
  /** Sends what the core wants sent. */
  protected abstract send(outgoing: Outgoing): void;
  /** Closes the answer to a request. */
  protected abstract drop(call: number): void;
  /** Gives everything back: what is sent after that is a farewell. */
  protected abstract release(): void;
  /** Called when the last farewell was handed over. */
  protected abstract leave(): void;

  /** Whether there is no subscription now. */
  protected get isReleased(): boolean {
    return this.#isReleased;
  }

  /** Hands something in, at its time. */
  protected at<T>(input: (machine: ClientWatch, time: number) => T): T | undefined {
    const answer = this.#ask((machine) => input(machine, now()));
    this.pump();
    return answer;
  }

  /** Does what the core asks for, and wakes the reader of the news. */
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

  /** What the core says; undefined where it is closed, or has trapped. */
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

  /** What the core knew of it is lost, and it is over. */
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

/** The next news of a source; undefined once `isClosed`. */
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

/** For people and logs: what is no UTF-8 is replaced. */
const decoder = new TextDecoder(undefined, { ignoreBOM: true });
const IDS_A_LIFE = 1_000_000;
