import type { Writable } from 'node:stream';
import { isFresh } from '../../handler/discovery.js';
import { ListenError } from '../../model/error.js';
import { type Deferred, deferred } from '../../timing/deferred.js';
import {
  type Discovered,
  discoveredIn,
  isDiscoverResponse,
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
  #pending: { token: string; askedAt: number; response: Deferred<Discovered> } | undefined;

  /**
   * @param server - the stream to the MCP server.
   * @param known - the declared server, for which no request is sent.
   */
  constructor(server: Writable, known: Discovered | undefined) {
    this.#server = server;
    this.#known = known;
  }

  /**
   * Returns what the MCP server has declared about itself.
   *
   * @throws ListenError `discover-failed`, also if no response arrives within `ms` milliseconds.
   */
  async ask(ms: number): Promise<Discovered> {
    const known = this.#known;
    if (known !== undefined && isFresh(known, performance.now())) return known;
    const { response } = this.#pending ?? this.#sendDiscover();
    const timeout = deferred<never>();
    const timer = setTimeout(
      () => timeout.reject(failure('the server did not respond to server/discover in time')),
      ms,
    );
    // The timer must not keep the process alive after the client has disconnected.
    timer.unref();
    try {
      return await Promise.race([response.promise, timeout.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Returns lines of the MCP server, without the response to our request; undefined if no line
   * remains.
   */
  withoutResponse(lines: Buffer): Buffer | undefined {
    if (this.#pending === undefined) return lines;
    const others = [...eachLine(lines)].filter((line) => !this.#handleLine(line));
    return others.length > 0 ? Buffer.concat(others) : undefined;
  }

  #sendDiscover() {
    const pending = {
      token: crypto.randomUUID(),
      askedAt: performance.now(),
      response: deferred<Discovered>(),
    };
    // Each caller of `ask` handles the rejection itself. After all of them have timed out, it must
    // not count as unhandled.
    pending.response.promise.catch(() => {});
    this.#pending = pending;
    this.#server.write(questionOf(ProbeQuestion.DiscoverLine, pending.token).body);
    return pending;
  }

  #handleLine(line: Buffer): boolean {
    if (this.#pending === undefined || !isDiscoverResponse(this.#pending.token, line)) return false;
    const { askedAt, response } = this.#pending;
    this.#pending = undefined;
    const discovered = discoveredIn(line, askedAt);
    if (discovered === undefined) {
      response.reject(failure('the server returned no capabilities for server/discover'));
      return true;
    }
    this.#known = discovered;
    response.resolve(discovered);
    return true;
  }
}

function failure(problem: string): ListenError {
  return new ListenError('discover-failed', problem);
}
