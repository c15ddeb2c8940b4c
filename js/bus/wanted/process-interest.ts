import { safeOnError } from '../../observe/on-error.js';
import { ConcurrencyLimit, type Place } from '../../timing/concurrency-limit.js';
import { DeadlineTimer } from '../../timing/deadline-timer.js';
import { HookedTopics } from './hooked-topics.js';
import { grantOf, type Interest, type TopicGrant } from './interest.js';
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
  /** The streams with each topic. */
  readonly #streams = new ConcurrencyLimit<string>(undefined, (topic) => this.#change(topic));
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
    if (this.#isClosed) return grantOf([...topics], []);
    const places = await Promise.all(topics.map((topic) => this.#want(topic, caller)));
    this.sweepSoon();
    const refused = topics.filter((_topic, index) => !places[index]);
    const failed = topics.filter((_topic, index) => places[index] === undefined);
    return grantOf(refused, places, failed);
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

  /**
   * Resolves with the place of a stream that may have the topic; false if the hook refuses it,
   * undefined if the hook fails.
   */
  async #want(topic: string, caller: string | undefined): Promise<Place | false | undefined> {
    const isAgain = this.#streams.has(topic) || this.peers?.isWanted(topic) === true;
    const place = this.#enter(topic);
    if (this.peers?.isHeld(topic) === true) return place;
    const isAccepted = await this.#hooks.want(topic, performance.now(), { caller, isAgain });
    if (isAccepted) return place;
    place.leave();
    return isAccepted;
  }

  #enter(topic: string): Place {
    const place = this.#streams.enter(topic);
    this.#hooks.change([topic]);
    return {
      keep: () => {
        place?.keep();
        this.#change(topic);
      },
      leave: () => {
        place?.leave();
        this.#change(topic);
      },
    };
  }

  /** Handles a change of the streams with the topic. */
  #change(topic: string): void {
    this.#hooks.change([topic]);
    this.sweepSoon();
  }

  /** Handles the reset of the core, which has lost the streams of sessions. */
  #changeAll(): void {
    this.#hooks.changeAll();
    this.#hooks.change(this.#streams.keys());
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
    return this.#streams.has(topic) || this.#sessions.wants(topic);
  }

  #sweepBy(deadline: number | undefined): void {
    if (!this.#isClosed) this.#timer.arm(deadline);
  }
}

/** Milliseconds for which changes are collected before the hooks are called for them. */
const SETTLE_MS = 100;
