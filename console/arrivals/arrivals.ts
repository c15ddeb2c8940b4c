import type { Topic } from '../mcp/topic.js';
import { type ListenersOf, Publication } from './publication.js';

/** How long one change took to reach one subscription. */
export interface Arrival {
  /** The number of the publication, from 1. */
  publication: number;
  /** The name of the subscription. */
  subscription: string;
  topic: Topic;
  ms: number;
}

/** Measures the time from a publish to each cue that it causes. */
export class Arrivals {
  readonly #listenersOf: ListenersOf;
  readonly #onArrival: (arrival: Arrival) => void;
  readonly #open = new Set<Publication>();
  #count = 0;

  constructor(listenersOf: ListenersOf, onArrival: (arrival: Arrival) => void) {
    this.#listenersOf = listenersOf;
    this.#onArrival = onArrival;
  }

  /**
   * Starts the measurement of a publish; `topics` are its topics, if they are known. A cue does
   * not say which change caused it, so a publish is not measured if another one for the same topic
   * is pending. One without topics has no cues to measure.
   */
  begin(at: number, topics?: Topic[]): Publication {
    const isUnambiguous = [...this.#open].every((other) => !other.concerns(topics));
    this.#count += isUnambiguous && topics?.length !== 0 ? 1 : 0;
    const number = this.#count;
    const publication = new Publication(
      at,
      topics,
      this.#listenersOf,
      (subscription, topic, ms) => {
        if (isUnambiguous) this.#onArrival({ publication: number, subscription, topic: topic, ms });
      },
    );
    this.#open.add(publication);
    void publication.arrived.then(() => this.#open.delete(publication));
    return publication;
  }

  /** Handles a cue. */
  cue(subscription: string, topic: Topic, at: number): void {
    for (const publication of this.#open) publication.cue(subscription, topic, at);
  }
}
