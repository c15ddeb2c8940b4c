import type { Topic } from '../mcp/topic.js';

/** Returns the names of the subscriptions that will receive a cue for a topic. */
export type ListenersOf = (topic: Topic) => string[];

/** A publish, from the time when it is sent to the last of its cues. */
export class Publication {
  /** Resolves when every subscription concerned has received a cue, or after a timeout. */
  readonly arrived: Promise<void>;
  readonly #at: number;
  readonly #listenersOf: ListenersOf;
  readonly #onCue: (subscription: string, topic: Topic, ms: number) => void;
  readonly #received = new Map<string, Cue>();
  #topics: Topic[] | undefined;
  #awaited: Set<string> | undefined;
  #finish: () => void = () => {};

  constructor(
    at: number,
    topics: Topic[] | undefined,
    listenersOf: ListenersOf,
    onCue: (subscription: string, topic: Topic, ms: number) => void,
  ) {
    this.#at = at;
    this.#topics = topics;
    this.#listenersOf = listenersOf;
    this.#onCue = onCue;
    this.arrived = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  /** Whether it may concern one of these topics; undefined stands for any topic. */
  concerns(topics: Topic[] | undefined): boolean {
    if (topics === undefined || this.#topics === undefined) return true;
    return this.#topics.some((topic) => topics.includes(topic));
  }

  /** Handles a cue. For each subscription only the first cue for a topic counts. */
  cue(subscription: string, topic: Topic, at: number): void {
    const key = `${subscription} ${topic}`;
    if (this.#received.has(key)) return;
    const cue = { subscription, topic, ms: at - this.#at };
    this.#received.set(key, cue);
    if (this.#topics?.includes(topic)) this.#onCue(subscription, topic, cue.ms);
    this.#check();
  }

  /** Handles the response to the publish. `topics`: its topics, if they were not known before. */
  settle(topics: Topic[] = this.#topics ?? []): void {
    if (this.#topics === undefined) {
      this.#topics = topics;
      for (const { subscription, topic, ms } of this.#received.values()) {
        if (topics.includes(topic)) this.#onCue(subscription, topic, ms);
      }
    }
    this.#awaited = new Set(
      topics.flatMap((topic) => this.#listenersOf(topic).map((name) => `${name} ${topic}`)),
    );
    setTimeout(this.#finish, TIMEOUT_MS);
    this.#check();
  }

  #check(): void {
    if (this.#awaited !== undefined && [...this.#awaited].every((key) => this.#received.has(key)))
      this.#finish();
  }
}

interface Cue {
  subscription: string;
  topic: Topic;
  ms: number;
}

/**
 * Milliseconds after the response within which cues are awaited. A later cue was collapsed into
 * another one, or its stream has lost its bus.
 */
const TIMEOUT_MS = 2_000;
