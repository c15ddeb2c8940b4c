import { ListenError } from '../../model/error.js';
import { finiteTimeout } from '../../model/timeouts.js';
import { DelayQueue } from '../../timing/delay-queue.js';
import { withTimeout } from '../../timing/with-timeout.js';
import type { HookContext, WantedOptions } from './options.js';
import { topicOf } from './topic.js';

/** What the hooks of {@link HookedTopics} are, and what they receive. */
export interface HookedTopicsOptions {
  hooks: Required<WantedOptions>;
  context: HookContext;
  demand: Demand;
  /** Called with what a hook throws, and when it takes too long. */
  onError: (error: Error) => void;
  /** Called when `onWanted` is about to be called, or was called before a restart. */
  onBegin?: (topic: string) => void;
  /**
   * Called when `onUnwanted` has returned, or `onWanted` has refused. `isReleased`: `onUnwanted`
   * was called, and no other process had taken over.
   */
  onEnd?: (topic: string, isReleased: boolean) => void;
  /**
   * Called when `onWanted` does not accept a topic that streams have already, and was not called
   * for it before.
   */
  onLateRefusal?: () => void;
  /** Called when the next sweep is due soon, because a hook has returned. */
  onDue: () => void;
  /** Milliseconds for which a topic stays wanted after a stream was granted it. */
  graceMs: number;
}

/** What streams subscribe to now. */
export interface Demand {
  /** Whether any stream of the whole bus has the topic. */
  isWanted(topic: string): boolean;
  /** Whether streams have the topic for which the hooks have to be called here. */
  isMine(topic: string): boolean;
  /** Whether another process has taken over the topic. */
  isTaken(topic: string): boolean;
  /** Whether another process calls the hooks for the topic too, or instead. */
  isElsewhere(topic: string): boolean;
  /** Whether another process may have called `onWanted` for what streams here have already. */
  isAgain: boolean;
}

/** The stream that wants a topic. */
export interface TopicStream {
  /** Identifies its caller; undefined if nothing does. */
  caller?: string | undefined;
  /** Whether other streams have the topic already. */
  isAgain?: boolean;
}

/** What a sweep has done. */
export interface Sweep {
  /** The topics that were checked. */
  topics: ReadonlySet<string>;
  /** When the next one is due, on the clock of `performance.now()`; undefined if none is. */
  next: number | undefined;
}

/**
 * The topics for which `onWanted` was called, and since when none of the streams wants them. A
 * sweep costs what has changed since the last one.
 */
export class HookedTopics {
  readonly #options: HookedTopicsOptions;
  readonly #states = new Map<string, State>();
  /** Topics that were held by a previous process, or by this one before a restart. */
  readonly #former = new Set<string>();
  /** Topics to check in the next sweep. */
  #changed = new Set<string>();
  /** Topics that no stream has had since they were added. */
  readonly #unwanted: DelayQueue;
  /** Topics whose stream may be on its way to the bus: it was granted them, or reconnects. */
  readonly #granted: DelayQueue;
  /** Topics that streams have already, and for which `onWanted` was called lately, or refused. */
  readonly #refused = new DelayQueue(RETRY_MS);
  /** The size of all topics in `#states` and `#former`. */
  #bytes = 0;
  /** The caller that was the first to want a topic, which counts for it. */
  readonly #callers = new Map<string, string>();
  /** The size of the topics that count for each caller. */
  readonly #shares = new Map<string, number>();
  /** Whether a topic was refused since half of the room was free. */
  #isFull = false;

  constructor(options: HookedTopicsOptions) {
    this.#options = options;
    this.#unwanted = new DelayQueue(options.hooks.unwantedMs);
    this.#granted = new DelayQueue(options.graceMs);
  }

  /** Whether `onWanted` has accepted the topic. */
  isHeld(topic: string): boolean {
    return this.#states.get(topic)?.isHeld === true;
  }

  /** Records that `onWanted` was called for a topic before. */
  restore(topic: string): void {
    this.#remember(topic);
    this.#former.add(topic);
    this.#changed.add(topic);
  }

  /** Records that {@link Demand} may have changed for these topics; the next sweep checks them. */
  change(topics: Iterable<string>): void {
    for (const topic of topics) this.#changed.add(topic);
  }

  /** As {@link HookedTopics.change}, for every topic for which a hook was called. */
  changeAll(): void {
    this.change(this.#states.keys());
    this.change(this.#former);
  }

  /**
   * Records that another process has called `onUnwanted` for topics as if it were the only one:
   * what `onWanted` did here may be undone, and has to be done again.
   */
  handleReleased(topics: Iterable<string>): void {
    for (const topic of topics) {
      const state = this.#states.get(topic);
      if (state === undefined) continue;
      state.isUndone = true;
      this.#checkSoon(topic);
    }
  }

  /**
   * Resolves with whether `onWanted` accepts the topic for a stream; calls it if that has not
   * happened. Undefined if it throws or takes too long: it may accept the topic later.
   */
  async want(topic: string, now: number, stream: TopicStream = {}): Promise<boolean | undefined> {
    const stopping = this.#states.get(topic)?.stopping;
    if (stopping !== undefined) await stopping;
    this.#giveBack(topic);
    if (!this.#hasRoom(topic, stream.caller)) return false;
    const state = this.#states.get(topic) ?? this.#start(topic, stream);
    state.isUnwanted = false;
    this.#granted.add(topic, now);
    const isAccepted = await this.#inTime('onWanted', state.started).catch(() => undefined);
    if (!isAccepted) this.#granted.delete(topic);
    return isAccepted;
  }

  /** Calls the hooks that are due at `now`. */
  sweep(now: number): Sweep {
    const queues = [this.#granted, this.#unwanted, this.#refused];
    const topics = this.#changed;
    this.#changed = new Set();
    for (const queue of queues) for (const topic of queue.take(now)) topics.add(topic);
    for (const topic of topics) this.#check(topic, now);
    const next = queues.flatMap((queue) => queue.next ?? []);
    return { topics, next: next.length > 0 ? Math.min(...next) : undefined };
  }

  /** Calls `onUnwanted` for all topics, because the bus is closed. */
  async stopAll(): Promise<void> {
    const { demand } = this.#options;
    const stops = [...this.#states].map(async ([topic, state]) => {
      // What an `onWanted` that is under way begins has to end too.
      await this.#inTime('onWanted', state.started).catch(() => {});
      if (state.isHeld)
        await (state.stopping ?? this.#stop(topic, state, demand.isElsewhere(topic)));
    });
    await Promise.all(stops);
  }

  #check(topic: string, now: number): void {
    const { demand } = this.#options;
    const isWanted = demand.isWanted(topic);
    if (!isWanted) {
      this.#refused.delete(topic);
      if (this.#former.has(topic)) this.#adopt(topic, now);
    } else if (demand.isMine(topic)) {
      this.#giveBack(topic);
      if (!this.#states.has(topic)) this.#startAgain(topic, now);
    }
    const state = this.#states.get(topic);
    if (state?.isHeld !== true || state.stopping !== undefined) return;
    // What is not wanted any more ends permanently: nothing would call `onWanted` again.
    const isUndone = state.isUndone === true && isWanted;
    if (demand.isTaken(topic) || isUndone) void this.#stop(topic, state, true);
    else if (isWanted) state.isUnwanted = false;
    else this.#stopIfDue(topic, state, now);
  }

  /** Calls `onWanted` for a topic that streams have already, unless it refused recently. */
  #startAgain(topic: string, now: number): void {
    if (this.#refused.isWaiting(topic, now)) return;
    this.#refused.add(topic, now);
    if (!this.#hasRoom(topic)) return;
    const { demand, onLateRefusal } = this.#options;
    const isFormer = this.#former.has(topic);
    void this.#start(topic, { isAgain: demand.isAgain }).started.then((isAccepted) => {
      if (isAccepted) this.#refused.delete(topic);
      else if (!isFormer) onLateRefusal?.();
    });
  }

  /**
   * Calls `onUnwanted` for a topic that no stream has had for long enough. If half of the room is
   * used, the topics of clients that may reconnect are not kept: otherwise one caller could fill it
   * with streams that it closes again.
   */
  #stopIfDue(topic: string, state: State, now: number): void {
    if (!state.isUnwanted) this.#unwanted.add(topic, now);
    state.isUnwanted = true;
    const mayReturn = !this.#isCrowded && this.#unwanted.isWaiting(topic, now);
    if (!mayReturn && !this.#granted.isWaiting(topic, now)) void this.#stop(topic, state);
  }

  /**
   * Treats a topic from before a restart as held, so that `onUnwanted` is called for it, once its
   * streams have had time to reconnect.
   */
  #adopt(topic: string, now: number): void {
    this.#former.delete(topic);
    if (this.#states.has(topic)) return;
    this.#states.set(topic, {
      started: Promise.resolve(true),
      isHeld: true,
      isUnwanted: false,
      isAdopted: true,
    });
    this.#granted.add(topic, now);
  }

  /** Handles a stream for an adopted topic: `onWanted` was called before the restart only. */
  #giveBack(topic: string): void {
    const { isAdopted, stopping } = this.#states.get(topic) ?? {};
    if (isAdopted !== true || stopping !== undefined) return;
    this.#states.delete(topic);
    this.#former.add(topic);
  }

  #start(topic: string, { caller, isAgain = false }: TopicStream): State {
    const { hooks, onBegin, onEnd } = this.#options;
    this.#remember(topic, caller);
    const isFormer = this.#former.delete(topic);
    const context = { ...this.#options.context, isAgain: isFormer || isAgain };
    onBegin?.(topic);
    const state: State = {
      isHeld: false,
      isUnwanted: false,
      started: this.#call('onWanted', () => hooks.onWanted(topicOf(topic), context)),
    };
    this.#states.set(topic, state);
    state.started = state.started.then((isAccepted) => {
      state.isHeld = isAccepted === true;
      if (!isAccepted) {
        this.#states.delete(topic);
        if (isFormer) this.#former.add(topic);
        else onEnd?.(topic, false);
        this.#forget(topic);
      }
      this.#checkSoon(topic);
      return isAccepted;
    });
    return state;
  }

  #stop(topic: string, state: State, isTaken = false): Promise<void> {
    const { context, hooks, onEnd } = this.#options;
    const call = this.#call('onUnwanted', () =>
      hooks.onUnwanted(topicOf(topic), { ...context, isTaken }),
    );
    this.#unwanted.delete(topic);
    state.stopping = this.#inTime('onUnwanted', call)
      .catch(() => {})
      .then(() => {
        this.#states.delete(topic);
        this.#forget(topic);
        onEnd?.(topic, !isTaken);
        this.#checkSoon(topic);
      });
    return state.stopping;
  }

  /**
   * Whether there is room for a topic, and in the share of its caller. Reports once that there is
   * no room.
   */
  #hasRoom(topic: string, caller?: string): boolean {
    const { hooks, onError } = this.#options;
    if (this.#isKnown(topic)) return true;
    const share = Math.max(MIN_SHARE_BYTES, hooks.namesBytes / CALLER_PARTS);
    const used = caller === undefined ? 0 : (this.#shares.get(caller) ?? 0) + sizeOf(topic);
    if (used > share) return false;
    if (this.#bytes + sizeOf(topic) <= hooks.namesBytes) return true;
    if (!this.#isFull)
      onError(new ListenError('wanted-failed', 'streams want more topics than wanted.namesBytes'));
    this.#isFull = true;
    return false;
  }

  /** Whether half of the room is used. */
  get #isCrowded(): boolean {
    return this.#bytes > this.#options.hooks.namesBytes / 2;
  }

  #isKnown(topic: string): boolean {
    return this.#states.has(topic) || this.#former.has(topic);
  }

  /** Counts a topic that is about to be added, and for the caller that wants it. */
  #remember(topic: string, caller?: string): void {
    if (this.#isKnown(topic)) return;
    if (caller !== undefined) this.#callers.set(topic, caller);
    this.#count(topic, sizeOf(topic));
  }

  /** Counts a topic that may have been removed. */
  #forget(topic: string): void {
    if (!this.#isKnown(topic)) {
      this.#count(topic, -sizeOf(topic));
      this.#callers.delete(topic);
    }
    this.#isFull &&= this.#isCrowded;
  }

  #count(topic: string, bytes: number): void {
    this.#bytes += bytes;
    const caller = this.#callers.get(topic);
    if (caller === undefined) return;
    const share = (this.#shares.get(caller) ?? 0) + bytes;
    if (share > 0) this.#shares.set(caller, share);
    else this.#shares.delete(caller);
  }

  /** Checks a topic whose hook has returned: what streams have may have changed meanwhile. */
  #checkSoon(topic: string): void {
    this.#changed.add(topic);
    this.#options.onDue();
  }

  /** Calls a hook. Resolves with whether it returns anything but false; undefined if it throws. */
  async #call(name: string, hook: () => unknown): Promise<boolean | undefined> {
    try {
      return (await hook()) !== false;
    } catch (cause) {
      this.#options.onError(new ListenError('wanted-failed', `${name} threw`, { cause }));
      return undefined;
    }
  }

  #inTime<T>(name: string, call: Promise<T>): Promise<T> {
    return withTimeout(finiteTimeout(this.#options.hooks.wantedMs), call, () => {
      const error = new ListenError('wanted-failed', `${name} took too long`);
      this.#options.onError(error);
      return error;
    });
  }
}

/** The state of a topic from the call of `onWanted` to the return of `onUnwanted`. */
interface State {
  /** Resolves with whether `onWanted` has accepted; undefined if it has thrown. */
  started: Promise<boolean | undefined>;
  isHeld: boolean;
  /** Whether no stream has had it since the last check. */
  isUnwanted: boolean;
  /** Whether `onWanted` was called before a restart only. */
  isAdopted?: boolean;
  /** Whether another process may have undone what `onWanted` did. */
  isUndone?: boolean;
  /** Resolves when `onUnwanted` has returned. */
  stopping?: Promise<void>;
}

/** Returns about how many bytes a topic and its state have. */
function sizeOf(topic: string): number {
  return encoder.encode(topic).length + STATE_BYTES;
}

const encoder = new TextEncoder();

/** The bytes of the state of a topic, and of its places in maps. */
const STATE_BYTES = 256;
/** The topics of one caller may together use the room divided by this number. */
const CALLER_PARTS = 8;
/** Bytes of topics that each caller may use if its part of the room is smaller. */
const MIN_SHARE_BYTES = 4_096;
/** Milliseconds between two calls of an `onWanted` that refuses what streams already have. */
const RETRY_MS = 30_000;
