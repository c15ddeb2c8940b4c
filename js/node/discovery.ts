import type { Writable } from 'node:stream';
import { type Deferred, deferred } from '../deferred.js';
import { ListenError } from '../error.js';
import { Discovered, Question } from '../wasm.js';
import { eachLine } from './whole-lines.js';

/** Asks the server behind for its capabilities, once, and keeps its answer from the client. */
export class Discovery {
  readonly #server: Writable;
  #question: Question | undefined;
  #answer: Deferred<Discovered> | undefined;

  /** @param server - where lines for the server behind go. */
  constructor(server: Writable) {
    this.#server = server;
  }

  /**
   * What the server behind tells of itself. It is asked again only after an answer that told nothing.
   *
   * @throws ListenError `discover-failed`, also where there is no answer after `ms` milliseconds.
   */
  async ask(ms: number): Promise<Discovered> {
    const answer = this.#answer ?? this.#put();
    const late = deferred<never>();
    const timer = setTimeout(() => late.reject(failure('the server did not answer server/discover in time')), ms);
    // A client that leaves meanwhile must not have to wait for this.
    timer.unref();
    try {
      return await Promise.race([answer.promise, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Lines of the server behind, without the answer to our question; `undefined` where nothing remains. */
  without(lines: Buffer): Buffer | undefined {
    if (this.#question === undefined) return lines;
    const others = [...eachLine(lines)].filter((line) => !this.#take(line));
    return others.length > 0 ? Buffer.concat(others) : undefined;
  }

  #put(): Deferred<Discovered> {
    const answer = deferred<Discovered>();
    // Whoever asked is told; where all of them have given up there is nobody left to tell.
    answer.promise.catch(() => {});
    this.#answer = answer;
    this.#question = new Question(crypto.randomUUID());
    this.#server.write(this.#question.line);
    return answer;
  }

  #take(line: Buffer): boolean {
    if (this.#question?.isAnsweredBy(line) !== true) return false;
    this.#question.free();
    this.#question = undefined;
    try {
      this.#answer?.resolve(Discovered.fromAnswer(line));
    } catch (cause) {
      this.#answer?.reject(failure('the server did not answer server/discover with its capabilities', { cause }));
      this.#answer = undefined;
    }
    return true;
  }
}

function failure(problem: string, options?: ErrorOptions): ListenError {
  return new ListenError('discover-failed', problem, options);
}
