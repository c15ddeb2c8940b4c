import { type Deferred, deferred } from '../../timing/deferred.js';
import { withTimeout } from '../../timing/with-timeout.js';

/** A message about the streams of a caller: a question to every process, or a reply. */
export interface CountMessage {
  /** The id of the question. */
  question: string;
  /** The caller whose streams are counted; only in a question. */
  principal?: string;
  /** How many streams the caller has at the sender; only in a reply. */
  streams?: number;
}

/** Asks the other processes of a bus how many streams a caller has, and replies to them. */
export class PeerCounts {
  readonly #post: (message: CountMessage) => void;
  readonly #streamsOf: (principal: string) => number;
  readonly #questions = new Map<string, Question>();

  /** @param streamsOf - returns how many streams a caller has in this process. */
  constructor(post: (message: CountMessage) => void, streamsOf: (principal: string) => number) {
    this.#post = post;
    this.#streamsOf = streamsOf;
  }

  /**
   * Resolves with the sum of the replies, after {@link COUNT_MS} or once each of `peers` has
   * replied; undefined if the processes are not known.
   */
  async ask(principal: string, peers: Iterable<string> | undefined): Promise<number> {
    const id = crypto.randomUUID();
    const question: Question = {
      missing: peers && new Set(peers),
      replies: new Map(),
      complete: deferred(),
    };
    this.#questions.set(id, question);
    this.#post({ question: id, principal });
    if (question.missing?.size === 0) question.complete.resolve();
    await withTimeout(COUNT_MS, question.complete.promise, () => new Error()).catch(() => {});
    this.#questions.delete(id);
    return [...question.replies.values()].reduce((sum, streams) => sum + streams, 0);
  }

  /** Handles a message of another process. */
  receive(from: string, { principal, question, streams }: Partial<CountMessage>): void {
    if (typeof question !== 'string') return;
    if (typeof principal === 'string')
      this.#post({ question, streams: this.#streamsOf(principal) });
    const asked = this.#questions.get(question);
    if (asked === undefined || !Number.isSafeInteger(streams) || Number(streams) < 0) return;
    asked.replies.set(from, Number(streams));
    asked.missing?.delete(from);
    if (asked.missing?.size === 0) asked.complete.resolve();
  }
}

/** A question that waits for replies. */
interface Question {
  /** The processes that have not replied; undefined if they are not known. */
  missing: Set<string> | undefined;
  /** The streams of the caller at each process that has replied. */
  replies: Map<string, number>;
  complete: Deferred<void>;
}

/** Milliseconds within which a process has to reply to be counted. */
export const COUNT_MS = 500;
