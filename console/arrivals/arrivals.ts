import type { Subject } from '../mcp/subject.js';
import { Publication } from './publication.js';

/** How long one change took to reach one subscription. */
export interface Arrival {
  /** Which publication it was, counted from 1. */
  publication: number;
  /** The name of the subscription. */
  subscription: string;
  subject: Subject;
  ms: number;
}

/** Who will hear of a subject: names of subscriptions. */
export type Hearing = (subject: Subject) => string[];

/** Measures from the moment of publishing to the moment when a cue is here. */
export class Arrivals {
  readonly #hearing: Hearing;
  readonly #onArrival: (arrival: Arrival) => void;
  readonly #open = new Set<Publication>();
  #count = 0;

  constructor(hearing: Hearing, onArrival: (arrival: Arrival) => void) {
    this.#hearing = hearing;
    this.#onArrival = onArrival;
  }

  /**
   * Something is published now; `subjects` where it is known what it is about. A cue does not say
   * which change it comes from, so one that is published while another one of the same subject is
   * under way is not measured.
   */
  begin(at: number, subjects?: Subject[]): Publication {
    const isAlone = [...this.#open].every((other) => !other.concerns(subjects));
    this.#count += isAlone ? 1 : 0;
    const number = this.#count;
    const publication = new Publication(
      at,
      subjects,
      this.#hearing,
      (subscription, subject, ms) => {
        if (isAlone) this.#onArrival({ publication: number, subscription, subject, ms });
      },
    );
    this.#open.add(publication);
    void publication.arrived.then(() => this.#open.delete(publication));
    return publication;
  }

  /** A cue is here. */
  cue(subscription: string, subject: Subject, at: number): void {
    for (const publication of this.#open) publication.cue(subscription, subject, at);
  }
}
