import { ListenError } from '../../model/error.js';
import { finiteTimeout } from '../../model/timeouts.js';
import { withTimeout } from '../../timing/with-timeout.js';
import type { WantedContext, WantedOptions } from './options.js';
import { topicOf } from './topic.js';

/** What the hooks of {@link HookedTopics} are, and what they receive. */
export interface HookedTopicsOptions {
  hooks: Required<WantedOptions>;
  /** The context of the hooks, without `isAgain`. */
  context: Omit<WantedContext, 'isAgain'>;
  /** Called with what a hook throws, and when it takes too long. */
  onError: (error: Error) => void;
  /** Called when `onWanted` is about to be called, or was called before a restart. */
  onBegin?: (topic: string) => void;
  /** Called when `onWanted` has accepted. */
  onHeld?: () => void;
  /** Called when `onUnwanted` has returned, or `onWanted` has refused. */
  onEnd?: (topic: string) => void;
  /** Milliseconds for which a topic stays wanted after a stream was granted it. */
  graceMs: number;
}

/** What to do for the topics at one time. */
export interface Demand {
  /** What streams of the whole bus subscribe to. */
  wanted: ReadonlySet<string>;
  /** The part of `wanted` for which the hooks have to be called here. */
  mine: Iterable<string>;
  /** Whether another process may have called `onWanted` for what streams here have already. */
  isAgain: boolean;
  /** Whether another process has taken over the topic. */
  isTaken: (topic: string) => boolean;
  /** On the clock of `performance.now()`. */
  now: number;
}

/** The topics for which `onWanted` was called, and since when none of the streams wants them. */
export class HookedTopics {
  readonly #options: HookedTopicsOptions;
  readonly #states = new Map<string, State>();
  /** When `onWanted` last refused a topic that streams already have. */
  readonly #refusedAt = new Map<string, number>();
  /** Topics that were held by a former process, or by this one before a restart. */
  readonly #former = new Set<string>();

  constructor(options: HookedTopicsOptions) {
    this.#options = options;
  }

  /** The topics that `onWanted` has accepted. */
  get held(): string[] {
    return [...this.#states].filter(([, { isHeld }]) => isHeld).map(([topic]) => topic);
  }

  /** Records that `onWanted` was called for a topic before. */
  restore(topic: string): void {
    this.#former.add(topic);
  }

  /**
   * Resolves with whether `onWanted` accepts the topic; calls it if that has not happened.
   * `isAgain`: other streams have it already.
   */
  async want(topic: string, now: number, isAgain = false): Promise<boolean> {
    const stopping = this.#states.get(topic)?.stopping;
    if (stopping !== undefined) await stopping;
    this.#giveBack(topic);
    const state = this.#states.get(topic) ?? this.#start(topic, isAgain);
    state.unwantedAt = undefined;
    state.keptUntil = now + this.#options.graceMs;
    return this.#inTime('onWanted', state.started).catch(() => false);
  }

  /** Calls the hooks that are due. Returns when to call it again, or undefined. */
  sweep(demand: Demand): number | undefined {
    const { mine, now, wanted } = demand;
    let next = NEVER;
    for (const topic of mine) {
      this.#giveBack(topic);
      if (!this.#states.has(topic)) next = Math.min(next, this.#startIfDue(topic, demand));
    }
    for (const topic of this.#former) if (!wanted.has(topic)) this.#adopt(topic, now);
    for (const topic of this.#refusedAt.keys())
      if (!wanted.has(topic)) this.#refusedAt.delete(topic);
    for (const [topic, state] of this.#states)
      if (state.isHeld && state.stopping === undefined)
        next = Math.min(next, this.#stopIfDue(topic, state, demand));
    return next === NEVER ? undefined : next;
  }

  /** Calls `onUnwanted` for all topics, because the bus is closed. */
  async stopAll(): Promise<void> {
    const held = [...this.#states].filter(([, { isHeld }]) => isHeld);
    await Promise.all(held.map(([topic, state]) => state.stopping ?? this.#stop(topic, state)));
  }

  /** Calls `onWanted` for a topic that streams have already, unless it refused recently. */
  #startIfDue(topic: string, { isAgain, now }: Demand): number {
    const due = (this.#refusedAt.get(topic) ?? Number.NEGATIVE_INFINITY) + RETRY_MS;
    if (due > now) return due;
    void this.#start(topic, isAgain).started.then((isAccepted) => {
      if (isAccepted) this.#refusedAt.delete(topic);
      else this.#refusedAt.set(topic, now);
    });
    return now + RETRY_MS;
  }

  /** Calls `onUnwanted` for a topic that no stream has had for long enough, or that was taken. */
  #stopIfDue(topic: string, state: State, { isTaken, now, wanted }: Demand): number {
    const isTakenOver = isTaken(topic);
    if (wanted.has(topic) && !isTakenOver) {
      state.unwantedAt = undefined;
      return NEVER;
    }
    state.unwantedAt ??= now;
    const due = Math.max(state.unwantedAt + this.#options.hooks.unwantedMs, state.keptUntil);
    if (!isTakenOver && due > now) return due;
    void this.#stop(topic, state);
    return NEVER;
  }

  /**
   * Treats a topic from before a restart as held, so that `onUnwanted` is called for it, once its
   * streams have had time to come back.
   */
  #adopt(topic: string, now: number): void {
    this.#former.delete(topic);
    if (!this.#states.has(topic))
      this.#states.set(topic, {
        ...{ started: Promise.resolve(true), isHeld: true, keptUntil: now + this.#options.graceMs },
        isAdopted: true,
      });
  }

  /** Handles a stream for an adopted topic: `onWanted` was called before the restart only. */
  #giveBack(topic: string): void {
    const { isAdopted, stopping } = this.#states.get(topic) ?? {};
    if (isAdopted !== true || stopping !== undefined) return;
    this.#states.delete(topic);
    this.#former.add(topic);
  }

  #start(topic: string, isAgain: boolean): State {
    const { hooks, onBegin, onEnd } = this.#options;
    const isFormer = this.#former.delete(topic);
    const context = this.#context(isFormer || isAgain);
    onBegin?.(topic);
    const state: State = {
      isHeld: false,
      keptUntil: 0,
      started: this.#call('onWanted', () => hooks.onWanted(topicOf(topic), context)),
    };
    this.#states.set(topic, state);
    state.started = state.started.then((isAccepted) => {
      state.isHeld = isAccepted;
      if (isAccepted) {
        this.#options.onHeld?.();
        return true;
      }
      this.#states.delete(topic);
      if (isFormer) this.#former.add(topic);
      else onEnd?.(topic);
      return false;
    });
    return state;
  }

  #stop(topic: string, state: State): Promise<void> {
    const { hooks, onEnd } = this.#options;
    const call = this.#call('onUnwanted', () =>
      hooks.onUnwanted(topicOf(topic), this.#context(false)),
    );
    state.stopping = this.#inTime('onUnwanted', call)
      .catch(() => {})
      .then(() => {
        this.#states.delete(topic);
        onEnd?.(topic);
      });
    return state.stopping;
  }

  /** Calls a hook. Resolves with false if it returns false or throws, which is reported. */
  async #call(name: string, hook: () => unknown): Promise<boolean> {
    try {
      return (await hook()) !== false;
    } catch (cause) {
      this.#options.onError(new ListenError('wanted-failed', `${name} threw`, { cause }));
      return false;
    }
  }

  #inTime<T>(name: string, call: Promise<T>): Promise<T> {
    return withTimeout(finiteTimeout(this.#options.hooks.wantedMs), call, () => {
      const error = new ListenError('wanted-failed', `${name} took too long`);
      this.#options.onError(error);
      return error;
    });
  }

  #context(isAgain: boolean): WantedContext {
    return { ...this.#options.context, isAgain };
  }
}

/** The state of a topic from the call of `onWanted` to the return of `onUnwanted`. */
interface State {
  /** Resolves with whether `onWanted` has accepted. */
  started: Promise<boolean>;
  isHeld: boolean;
  /** Whether `onWanted` was called before a restart only. */
  isAdopted?: boolean;
  /** Since when no stream wants it. */
  unwantedAt?: number | undefined;
  /** Until then a stream may be on its way to the bus: it was granted the topic, or comes back. */
  keptUntil: number;
  /** Resolves when `onUnwanted` has returned. */
  stopping?: Promise<void>;
}

const NEVER = Number.POSITIVE_INFINITY;
/** Milliseconds between two calls of an `onWanted` that refuses what streams already have. */
const RETRY_MS = 30_000;
