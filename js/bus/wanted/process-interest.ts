import { safeOnError } from '../../observe/on-error.js';
import { DeadlineTimer } from '../../timing/deadline-timer.js';
import { HookedTopics } from './hooked-topics.js';
import type { Interest, TopicGrant } from './interest.js';
import { type WantedContext, type WantedOptions, wantedOptions } from './options.js';
import { type OwnTopic, PeerInterests } from './peer-interests.js';
import { type Topic, textOfTopic } from './topic.js';
import type { WantedChange } from './wanted-change.js';

/** What the hooks of a bus in a process need. */
export interface ProcessInterestOptions {
  wanted: WantedOptions;
  context: Omit<WantedContext, 'isAgain'>;
  onError: (error: Error) => void;
  /** What the streams of sessions subscribe to, which is not granted one by one. */
  sessions: SessionTopics;
  /** Sends a text to the other processes, and never rejects; undefined if there are none. */
  signal?: ((text: string) => Promise<void>) | undefined;
  /** Returns how many streams a caller has in this process, for the other processes. */
  streamsOf?: (principal: string) => number;
}

/** What the streams of the sessions of a process subscribe to. */
export interface SessionTopics {
  /** Whether any of them has the topic with this text. */
  wants(topic: string): boolean;
  /** Returns what has changed since the last call. */
  change(): WantedChange;
}

/**
 * What the streams of this process subscribe to. The first of several processes that wants a
 * topic calls the hooks for all of them.
 */
export class ProcessInterest implements Interest {
  /** The other processes; undefined if the bus has one process. */
  readonly peers: PeerInterests | undefined;
  readonly #hooks: HookedTopics;
  readonly #sessions: SessionTopics;
  /** Topics that were released here since the other processes were notified. */
  #released: string[] = [];
  /** The number of streams with each topic. */
  readonly #counts = new Map<string, number>();
  readonly #timer = new DeadlineTimer(() => this.#sweep());
  #isClosed = false;

  /** @throws ListenError `invalid-options`. */
  constructor(options: ProcessInterestOptions) {
    const { context, onError, sessions, signal, streamsOf = () => 0, wanted } = options;
    this.#sessions = sessions;
    this.#hooks = new HookedTopics({
      hooks: wantedOptions(wanted),
      context,
      demand: {
        isWanted: (topic) => this.#isWanted(topic),
        isMine: (topic) => this.#isWantedHere(topic) && this.peers?.isMine(topic) !== false,
        isTaken: (topic) => this.peers?.isTaken(topic) === true,
        isElsewhere: (topic) => this.peers?.isHeld(topic) === true,
        isAgain: true,
      },
      onError: safeOnError(onError),
      onEnd: (topic, isReleased) => {
        if (isReleased && this.peers !== undefined) this.#released.push(topic);
      },
      onDue: () => this.sweepSoon(),
      graceMs: 0,
    });
    this.peers =
      signal &&
      new PeerInterests(signal, {
        streamsOf,
        onChange: (topics) => {
          this.#hooks.change(topics);
          this.sweepSoon();
        },
        onReleased: (topics) => this.#hooks.handleReleased(topics),
      });
  }

  async want(topics: readonly string[], caller?: string): Promise<TopicGrant> {
    if (this.#isClosed) return { refused: [...topics], failed: [], release: () => {} };
    const decisions = await Promise.all(topics.map((topic) => this.#want(topic, caller)));
    let granted = topics.filter((_topic, index) => decisions[index]);
    const refused = topics.filter((_topic, index) => !decisions[index]);
    const failed = topics.filter((_topic, index) => decisions[index] === undefined);
    this.sweepSoon();
    const release = (): void => {
      for (const topic of granted) this.#count(topic, -1);
      granted = [];
      this.sweepSoon();
    };
    return { refused, failed, release };
  }

  /** Returns whether any process of the bus has a stream with the topic. */
  isWanted(topic: Topic): boolean {
    return this.#isWanted(textOfTopic(topic));
  }

  /** Resolves with how many streams a caller has at the other processes that reply in time. */
  async listenersElsewhere(principal: string): Promise<number> {
    return (await this.peers?.listeners(principal)) ?? 0;
  }

  /** Handles a change of what streams subscribe to. */
  sweepSoon(): void {
    this.#sweepBy(performance.now() + SETTLE_MS);
  }

  /** Calls `onUnwanted` for what this process holds, and leaves the other processes. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer.clear();
    await this.#hooks.stopAll();
    await this.peers?.leave(this.#takeReleased());
  }

  /** Resolves with whether a stream may have the topic; undefined if the hook fails. */
  async #want(topic: string, caller: string | undefined): Promise<boolean | undefined> {
    const isAgain = this.#counts.has(topic) || this.peers?.isWanted(topic) === true;
    this.#count(topic, 1);
    if (this.peers?.isHeld(topic) === true) return true;
    const isAccepted = await this.#hooks.want(topic, performance.now(), { caller, isAgain });
    if (!isAccepted) this.#count(topic, -1);
    return isAccepted;
  }

  #count(topic: string, change: number): void {
    const count = (this.#counts.get(topic) ?? 0) + change;
    if (count > 0) this.#counts.set(topic, count);
    else this.#counts.delete(topic);
    this.#hooks.change([topic]);
  }

  /** Handles the reset of the core, which has lost the streams of sessions. */
  #changeAll(): void {
    this.#hooks.changeAll();
    this.#hooks.change(this.#counts.keys());
    if (this.peers !== undefined) this.#hooks.change(this.peers.known());
  }

  #sweep(): void {
    const { topics: ofSessions, isWhole } = this.#sessions.change();
    if (isWhole) this.#changeAll();
    this.#hooks.change(ofSessions);
    const { next, topics } = this.#hooks.sweep(performance.now());
    this.peers?.update(this.#own(topics));
    void this.peers?.release(this.#takeReleased());
    this.#sweepBy(next);
  }

  #takeReleased(): string[] {
    const released = this.#released;
    this.#released = [];
    return released;
  }

  *#own(topics: Iterable<string>): Iterable<OwnTopic> {
    for (const topic of topics)
      yield { topic, isWanted: this.#isWantedHere(topic), isHeld: this.#hooks.isHeld(topic) };
  }

  #isWanted(topic: string): boolean {
    return this.#isWantedHere(topic) || this.peers?.isWanted(topic) === true;
  }

  #isWantedHere(topic: string): boolean {
    return this.#counts.has(topic) || this.#sessions.wants(topic);
  }

  #sweepBy(deadline: number | undefined): void {
    if (!this.#isClosed) this.#timer.arm(deadline);
  }
}

/** Milliseconds for which changes are collected before the hooks are called for them. */
const SETTLE_MS = 100;
