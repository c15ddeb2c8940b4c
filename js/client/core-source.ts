import { deferred } from '../deferred.js';
import { now, WakeTimer } from './clock.js';
import { type ClientListener, ClientNews } from './core.js';
import type { CoreEnd } from './error.js';
import { clientLife } from './life.js';
import type { ListenOptions } from './options.js';
import type { News, Source } from './source.js';

/** What the core wants sent. */
export interface Outgoing {
  call: number;
  method: string;
  /** Header fields, one a line. */
  headers: string;
  body: string | null;
}

/** A subscription whose rules are in the core: it says what to send and what it means, this moves it. */
export abstract class CoreSource implements Source {
  id = '';
  version: string | undefined;
  minted = 0;
  wake = (): void => {};
  /** What the network said last, for whoever is told of a loss. */
  protected cause: unknown;
  /** Undefined once it is closed, its memory given back at once for hosts that have no finalizers; or where the core has begun anew. */
  #machine: ClientListener | undefined;
  readonly #timer = new WakeTimer(() => this.at((machine, time) => machine.timeout(time)));
  readonly #log: ListenOptions['onMessage'];
  readonly #leaveCore: () => void;
  /** What the core has trapped with. */
  #trap: Error | undefined;
  /** The end that it had with the core. */
  #lapsed: News | undefined;
  #isReleased = false;

  constructor(machine: ClientListener, log: ListenOptions['onMessage']) {
    this.#machine = machine;
    this.#log = log;
    const { promise, resolve } = deferred();
    this.#leaveCore = clientLife.whenTrapped((error) => {
      this.#trap ??= error;
      resolve();
    });
    // Later, on behalf of whoever listens, not of whoever has called the core.
    void promise.then(() => this.#lapse());
  }

  news(): News | undefined {
    const news = this.#ask((machine) => this.#newsOf(machine));
    return news ?? this.#lapsed;
  }

  close(): void {
    this.#ask((machine) => machine.cancel());
    this.pump();
    this.#leaveCore();
    const machine = this.#machine;
    if (machine === undefined) return;
    this.#machine = undefined;
    // Later, since whoever closes may have been called while the core was being asked.
    queueMicrotask(() => machine.free());
  }

  /** Sends what the core wants sent. */
  protected abstract send(outgoing: Outgoing): void;
  /** Closes the answer to a request. */
  protected abstract drop(call: number): void;
  /** Gives everything back: what is sent after that is a farewell. */
  protected abstract release(): void;
  /** Called when the last farewell was handed over. */
  protected abstract leave(): void;

  /** Whether nothing more comes. */
  protected get isReleased(): boolean {
    return this.#isReleased;
  }

  /** Hands something in, at its time. */
  protected at<T>(input: (machine: ClientListener, time: number) => T): T | undefined {
    const answer = this.#ask((machine) => input(machine, now()));
    this.pump();
    return answer;
  }

  /** Does what the core wants done, and tells whoever waits that there may be news. */
  protected pump(): void {
    this.#ask((machine) => this.#pump(machine));
  }

  #pump(machine: ClientListener): void {
    this.#tell(machine);
    const ends = machine.isEnded && !this.#isReleased;
    if (ends) {
      this.#isReleased = true;
      this.release();
    }
    while (machine.transfer()) {
      const { call, method } = machine;
      this.minted = machine.minted;
      if (method === undefined) this.drop(call);
      else this.#send({ call, method, headers: machine.headers, body: machine.body ?? null });
    }
    if (ends) this.leave();
    this.#timer.set(machine.deadline);
    this.wake();
  }

  /** What the core says; undefined where it is closed, or has trapped. */
  #ask<T>(question: (machine: ClientListener) => T): T | undefined {
    if (this.#machine === undefined) return undefined;
    try {
      return question(this.#machine);
    } catch (error) {
      if (!clientLife.isOfTrap(error)) throw error;
      this.#trap ??= error as Error;
      this.#lapse();
      return undefined;
    }
  }

  #newsOf(machine: ClientListener): News | undefined {
    const news = machine.news();
    if (news === ClientNews.None) return undefined;
    if (news === ClientNews.Changed) return { kind: 'changed', event: JSON.parse(machine.text) };
    if (news !== ClientNews.Acknowledged) return { kind: 'ended', end: endOf(machine), cause: this.cause };
    this.id = machine.id ?? '';
    this.version = machine.version;
    return { kind: 'acknowledged', honored: JSON.parse(machine.text) };
  }

  /** What the core knew of it is lost, and it is over. */
  #lapse(): void {
    if (this.#machine === undefined) return;
    this.#machine = undefined;
    this.#lapsed = { kind: 'ended', end: { code: 'core-trapped' }, cause: this.#trap?.cause };
    this.#leaveCore();
    this.#timer.set(undefined);
    if (!this.#isReleased) {
      this.#isReleased = true;
      this.release();
      this.leave();
    }
    this.wake();
  }

  #send(outgoing: Outgoing): void {
    if (outgoing.body !== null) this.#log?.({ at: Date.now(), direction: 'out', text: outgoing.body });
    this.send(outgoing);
  }

  #tell(machine: ClientListener): void {
    for (let text = machine.message(); text !== undefined; text = machine.message())
      this.#log?.({ at: Date.now(), direction: 'in', text });
  }
}

function endOf({ endCode, endStatus, endRpcCode, endText, retryAfter }: ClientListener): CoreEnd {
  return {
    code: endCode ?? 'disconnected',
    ...(endStatus !== undefined && { status: endStatus }),
    ...(endRpcCode !== undefined && { rpcCode: endRpcCode }),
    ...(endText !== undefined && { text: endText }),
    ...(retryAfter !== undefined && { retryAfterMs: retryAfter }),
  };
}
