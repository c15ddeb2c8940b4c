import type { Subject } from '../mcp/subject.js';
import type { Hearing } from './arrivals.js';

/** One change under way, from the moment when it is sent to the last of its cues. */
export class Publication {
  /** Resolves when everybody has heard of it who should, or it is of no use to wait any longer. */
  readonly arrived: Promise<void>;
  readonly #at: number;
  readonly #hearing: Hearing;
  readonly #tell: (subscription: string, subject: Subject, ms: number) => void;
  readonly #heard = new Map<string, Cue>();
  #subjects: Subject[] | undefined;
  #awaited: Set<string> | undefined;
  #finish: () => void = () => {};

  constructor(
    at: number,
    subjects: Subject[] | undefined,
    hearing: Hearing,
    tell: (subscription: string, subject: Subject, ms: number) => void,
  ) {
    this.#at = at;
    this.#subjects = subjects;
    this.#hearing = hearing;
    this.#tell = tell;
    this.arrived = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  /** Whether it may be about one of these; undefined stands for anything. */
  concerns(subjects: Subject[] | undefined): boolean {
    if (subjects === undefined || this.#subjects === undefined) return true;
    return this.#subjects.some((subject) => subjects.includes(subject));
  }

  /** A cue is here; the first one of a subject counts for each subscription. */
  cue(subscription: string, subject: Subject, at: number): void {
    const key = `${subscription} ${subject}`;
    if (this.#heard.has(key)) return;
    const cue = { subscription, subject, ms: at - this.#at };
    this.#heard.set(key, cue);
    if (this.#subjects?.includes(subject)) this.#tell(subscription, subject, cue.ms);
    this.#check();
  }

  /** The publisher has its answer: these are the subjects, where they were not known before. */
  settle(subjects: Subject[] = this.#subjects ?? []): void {
    if (this.#subjects === undefined) {
      this.#subjects = subjects;
      for (const { subscription, subject, ms } of this.#heard.values()) {
        if (subjects.includes(subject)) this.#tell(subscription, subject, ms);
      }
    }
    this.#awaited = new Set(
      subjects.flatMap((subject) => this.#hearing(subject).map((name) => `${name} ${subject}`)),
    );
    setTimeout(this.#finish, PATIENCE_MS);
    this.#check();
  }

  #check(): void {
    if (this.#awaited !== undefined && [...this.#awaited].every((key) => this.#heard.has(key)))
      this.#finish();
  }
}

interface Cue {
  subscription: string;
  subject: Subject;
  ms: number;
}

/**
 * A cue that has not come this long after the answer was collapsed into another one, or its stream
 * is away.
 */
const PATIENCE_MS = 2_000;
