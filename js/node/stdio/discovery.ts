import type { Writable } from 'node:stream';
import { ListenError } from '../../model/error.js';
import { type Deferred, deferred } from '../../timing/deferred.js';
import {
  answersQuestion,
  Discovered,
  ProbeQuestion,
  questionOf,
} from '../../wasm/server/bindings.js';
import { eachLine } from './lines.js';

/**
 * Discovers the capabilities of the MCP server. It sends `server/discover` between the lines of
 * the client, and again once the response has expired.
 */
export class StdioDiscovery {
  readonly #server: Writable;
  #known: Discovered | undefined;
  #pending: { token: string; askedAt: number; answer: Deferred<Discovered> } | undefined;

  /**
   * @param server - the stream to the MCP server.
   * @param known - the declared server, for which no request is sent.
   */
  constructor(server: Writable, known: Discovered | undefined) {
    this.#server = server;
    this.#known = known;
  }

  /**
   * Returns what the MCP server has declared about itself. The caller must not store the result.
   *
   * @throws ListenError `discover-failed`, also if no response arrives within `ms` milliseconds.
   */
  async ask(ms: number): Promise<Discovered> {
    if (this.#known?.isFresh(performance.now(), false)) return this.#known;
    const { answer } = this.#pending ?? this.#sendDiscover();
    const timeout = deferred<never>();
    const timer = setTimeout(
      () => timeout.reject(failure('the server did not answer server/discover in time')),
      ms,
    );
    // The timer must not keep the process alive after the client has disconnected.
    timer.unref();
    try {
      return await Promise.race([answer.promise, timeout.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Returns lines of the MCP server, without the response to our request; undefined if no line
   * remains.
   */
  withoutAnswer(lines: Buffer): Buffer | undefined {
    if (this.#pending === undefined) return lines;
    const others = [...eachLine(lines)].filter((line) => !this.#handleLine(line));
    return others.length > 0 ? Buffer.concat(others) : undefined;
  }

  #sendDiscover() {
    const pending = {
      token: crypto.randomUUID(),
      askedAt: performance.now(),
      answer: deferred<Discovered>(),
    };
    // Each caller of `ask` handles the rejection itself. After all of them have timed out, it must
    // not count as unhandled.
    pending.answer.promise.catch(() => {});
    this.#pending = pending;
    this.#server.write(questionOf(ProbeQuestion.DiscoverLine, pending.token).body);
    return pending;
  }

  #handleLine(line: Buffer): boolean {
    if (this.#pending === undefined || !answersQuestion(this.#pending.token, line)) return false;
    const { answer, askedAt } = this.#pending;
    this.#pending = undefined;
    const discovered = Discovered.fromAnswer(line, askedAt);
    if (discovered === undefined) {
      answer.reject(failure('the server did not answer server/discover with its capabilities'));
      return true;
    }
    this.#known?.free();
    this.#known = discovered;
    answer.resolve(discovered);
    return true;
  }
}

function failure(problem: string): ListenError {
  return new ListenError('discover-failed', problem);
}
