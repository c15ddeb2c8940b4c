import { calling } from '../../model/error.js';
import type { ChangeEvent } from '../../model/event.js';
import type { SubscriptionFilter } from '../../model/filter.js';
import type { CoreEnd } from '../../model/subscription-error.js';
import { deferred } from '../../timing/deferred.js';
import {
  type ClientAction,
  type ClientOutput,
  ClientWatch,
  type ServerHint,
} from '../../wasm/client/bindings.js';
import { clientGuard } from '../../wasm/client/guard.js';
import { runCallback } from '../callback.js';
import { now, WakeTimer } from '../clock.js';
import { type ClientListenOptions, DEFAULTS, infoOf } from '../options.js';

/** A request or message that the core wants sent. */
export type Outgoing = Extract<ClientAction, { kind: 'send' }>;

/** A change of state of a subscription, or an event that it received. */
export type SourceEvent =
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
  /** Called when there may be an event. */
  wake = (): void => {};
  /** The last network error: the cause of a lost subscription. */
  protected cause: unknown;
  /**
   * Undefined after a trap of the core and after `close`. Freed explicitly, since some hosts have
   * no finalizers.
   */
  #machine: ClientWatch | undefined;
  readonly #timer = new WakeTimer(() => this.at((machine, time) => machine.handleTimeout(time)));
  readonly #log: ClientListenOptions['onMessage'];
  readonly #removeResetListener: () => void;
  /** The error of the trap, if the core trapped. */
  #trap: Error | undefined;
  /** The final event of a subscription that ended because the core trapped. */
  #finalEvent: SourceEvent | undefined;
  /** Whether there are no requests to abort and no channel to leave. */
  #isReleased = true;

  /**
   * Without `hint` the subscription runs on a channel. With `opensAgain` it reopens whenever
   * it ends.
   */
  constructor(
    filter: string,
    hint: ServerHint | undefined,
    options: ClientListenOptions,
    opensAgain: boolean,
  ) {
    const { ackTimeoutMs, maxSilenceMs } = { ...DEFAULTS, ...options };
    const limits = [ackTimeoutMs, maxSilenceMs] as const;
    const { onMessage } = options;
    const info = infoOf(options);
    // Ids continue in a new range after a reset: the server may not know yet that the requests of
    // the previous instance are over.
    const usedIds = clientGuard.generation * IDS_PER_INSTANCE;
    this.#machine = calling(
      () =>
        new ClientWatch(
          filter,
          hint,
          info,
          ...limits,
          onMessage !== undefined,
          opensAgain,
          usedIds,
          Math.random(),
          now(),
        ),
    );
    this.#log = onMessage && ((message) => runCallback(() => onMessage(message)));
    const { promise, resolve } = deferred();
    this.#removeResetListener = clientGuard.onReset((error) => {
      this.#trap ??= error;
      resolve();
    });
    // Runs later in the context of this listener, not in that of the request that called the core.
    void promise.then(() => this.#handleTrap());
  }

  /** Returns the next event; undefined if there is none now: `wake` is called when there is. */
  next(): SourceEvent | undefined {
    const output = this.#call((machine) => machine.pollOutput(now()));
    if (output === undefined) return this.#finalEvent;
    const event = this.#read(output);
    this.pump();
    return event;
  }

  /** Handles the return of the network. */
  online(): void {
    this.at((machine, time) => machine.handleOnline(time));
  }

  /** Ends the subscription and notifies the server. */
  close(): void {
    this.#call((machine) => machine.cancel());
    this.pump();
    this.#removeResetListener();
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

  /** Logs a message that is about to be sent. */
  protected logSent(text: string): void {
    this.#log?.({ at: Date.now(), direction: 'out', text });
  }

  /** Passes input to the core with the current time, and handles its output. */
  protected at<T>(input: (machine: ClientWatch, time: number) => T): T | undefined {
    const result = this.#call((machine) => input(machine, now()));
    this.pump();
    return result;
  }

  /** Handles the output of the core, and wakes the reader of the events. */
  protected pump(): void {
    this.#call((machine) => this.#pump(machine));
  }

  #pump(machine: ClientWatch): void {
    this.#logMessages(machine);
    const { isEnded } = machine;
    const ends = isEnded && !this.#isReleased;
    this.#isReleased = isEnded;
    if (ends) this.release();
    for (let next = machine.pollAction(); next !== undefined; next = machine.pollAction())
      this.#act(next);
    if (ends) this.leave();
    this.#timer.set(machine.pollTimeout());
    this.wake();
  }

  /** Calls the core. Returns undefined if the source is closed, or if the core has trapped. */
  #call<T>(call: (machine: ClientWatch) => T): T | undefined {
    if (this.#machine === undefined) return undefined;
    try {
      return call(this.#machine);
    } catch (error) {
      if (!clientGuard.isTrapError(error)) throw error;
      this.#trap ??= error as Error;
      this.#handleTrap();
      return undefined;
    }
  }

  #read(next: ClientOutput): SourceEvent {
    if (next.kind === 'connecting') return next;
    if (next.kind === 'live') return { ...next, honored: JSON.parse(next.honored) };
    if (next.kind === 'changed') return { ...next, event: JSON.parse(next.event) };
    const { cause } = this;
    this.cause = undefined;
    return { ...next, cause };
  }

  /** Ends the subscription after a trap: its state in the core is lost. */
  #handleTrap(): void {
    if (this.#machine === undefined) return;
    this.#machine = undefined;
    this.#finalEvent = { kind: 'stopped', end: { code: 'core-trapped' }, cause: this.#trap?.cause };
    this.#removeResetListener();
    this.#timer.set(undefined);
    if (!this.#isReleased) {
      this.#isReleased = true;
      this.release();
      this.leave();
    }
    this.wake();
  }

  #act(action: ClientAction): void {
    if (action.kind === 'close') this.drop(action.call);
    else if (action.kind === 'send') this.send(action);
    else {
      this.#isReleased = false;
      this.join();
    }
  }

  #logMessages(machine: ClientWatch): void {
    for (let bytes = machine.pollMessage(); bytes !== undefined; bytes = machine.pollMessage())
      this.#log?.({ at: Date.now(), direction: 'in', text: decoder.decode(bytes) });
  }
}

/** Waits for the next event of a source. Returns undefined once `isClosed` returns true. */
export async function nextEvent(
  source: CoreSource,
  isClosed: () => boolean,
): Promise<SourceEvent | undefined> {
  for (;;) {
    if (isClosed()) return undefined;
    const event = source.next();
    if (event !== undefined) return event;
    await new Promise<void>((resolve) => {
      source.wake = resolve;
    });
  }
}

/** Decodes messages for logs: replaces invalid UTF-8. */
const decoder = new TextDecoder(undefined, { ignoreBOM: true });
/** The number of ids that each instance of the core reserves. */
const IDS_PER_INSTANCE = 1_000_000;
