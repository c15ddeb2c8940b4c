import { guarded } from '../../observe/on-error.js';
import { DeadlineTimer } from '../../timing/deadline-timer.js';
import { HookedTopics } from './hooked-topics.js';
import type { Interest, TopicGrant } from './interest.js';
import { type WantedContext, type WantedOptions, wantedOptions } from './options.js';
import { PeerInterests } from './peer-interests.js';
import { type Topic, textOfTopic } from './topic.js';

/** What the hooks of a bus in a process need. */
export interface ProcessInterestOptions {
  wanted: WantedOptions;
  context: Omit<WantedContext, 'isAgain'>;
  onError: (error: Error) => void;
  /** Returns the topics of the streams of sessions, which are not granted one by one. */
  ofSessions: () => Iterable<string>;
  /** Sends a text to the other processes, and never rejects; undefined if there are none. */
  signal?: ((text: string) => Promise<void>) | undefined;
}

/**
 * What the streams of this process subscribe to. Of several processes the one that first wants a
 * topic calls the hooks, for all of them.
 */
export class ProcessInterest implements Interest {
  /** The other processes; undefined if the bus has one process. */
  readonly peers: PeerInterests | undefined;
  readonly #hooks: HookedTopics;
  readonly #ofSessions: () => Iterable<string>;
  /** The number of streams with each topic. */
  readonly #counts = new Map<string, number>();
  readonly #timer = new DeadlineTimer(() => this.#sweep());
  #isClosed = false;

  /** @throws ListenError `invalid-options`. */
  constructor({ context, ofSessions, onError, signal, wanted }: ProcessInterestOptions) {
    this.#ofSessions = ofSessions;
    this.#hooks = new HookedTopics({
      hooks: wantedOptions(wanted),
      context,
      onError: guarded(onError),
      onHeld: () => this.changed(),
      onEnd: () => this.changed(),
      graceMs: 0,
    });
    this.peers = signal && new PeerInterests(signal, () => this.changed());
  }

  async want(topics: readonly string[]): Promise<TopicGrant> {
    const verdicts = await Promise.all(topics.map((topic) => this.#want(topic)));
    let granted = topics.filter((_topic, index) => verdicts[index]);
    const refused = topics.filter((_topic, index) => !verdicts[index]);
    this.changed();
    const release = (): void => {
      for (const topic of granted) this.#count(topic, -1);
      granted = [];
      this.changed();
    };
    return { refused, release };
  }

  /** Returns whether any process of the bus has a stream with the topic. */
  isWanted(topic: Topic): boolean {
    const text = textOfTopic(topic);
    if (this.#counts.has(text) || this.peers?.isWanted(text) === true) return true;
    for (const other of this.#ofSessions()) if (other === text) return true;
    return false;
  }

  /** Handles a change of what streams subscribe to. */
  changed(): void {
    this.#sweepBy(performance.now() + SETTLE_MS + this.#counts.size * MS_PER_TOPIC);
  }

  /** Calls `onUnwanted` for what this process holds, and leaves the other processes. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer.clear();
    await this.#hooks.stopAll();
    await this.peers?.leave();
  }

  /** Resolves with whether a stream may have the topic. */
  async #want(topic: string): Promise<boolean> {
    const isAgain = this.#counts.has(topic) || this.peers?.isWanted(topic) === true;
    this.#count(topic, 1);
    if (this.peers?.isHeld(topic) === true) return true;
    const isAccepted = await this.#hooks.want(topic, performance.now(), isAgain);
    if (!isAccepted) this.#count(topic, -1);
    return isAccepted;
  }

  #count(topic: string, change: number): void {
    const count = (this.#counts.get(topic) ?? 0) + change;
    if (count > 0) this.#counts.set(topic, count);
    else this.#counts.delete(topic);
  }

  #sweep(): void {
    const { peers } = this;
    const local = new Set([...this.#counts.keys(), ...this.#ofSessions()]);
    const wanted = new Set([...local, ...(peers?.wanted() ?? [])]);
    const mine = [...local].filter((topic) => peers?.isMine(topic) !== false);
    const now = performance.now();
    const isTaken = (topic: string): boolean => peers?.isTaken(topic) === true;
    const next = this.#hooks.sweep({ wanted, mine, isAgain: true, isTaken, now });
    peers?.update(local, this.#hooks.held);
    this.#sweepBy(next);
  }

  #sweepBy(deadline: number | undefined): void {
    if (!this.#isClosed) this.#timer.arm(deadline);
  }
}

/** Milliseconds for which changes are collected before the hooks are called for them. */
const SETTLE_MS = 100;
/** Additional milliseconds for each topic, so that this takes a small part of the time. */
const MS_PER_TOPIC = 0.05;
