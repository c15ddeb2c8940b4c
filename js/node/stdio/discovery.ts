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
 * the client, and again once the response has expired, or if none came in time.
 */
export class StdioDiscovery {
  readonly #server: Writable;
  #known: Discovered | undefined;
  /** The latest request, until there is a response. */
  #pending: DiscoverRequest | undefined;
  /** The requests whose responses must not reach the client, by token. */
  readonly #sent = new Map<string, DiscoverRequest>();

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
    const request = this.#pending?.isLate === false ? this.#pending : this.#sendDiscover();
    const timeout = deferred<never>();
    const timer = setTimeout(() => {
      request.isLate = true;
      timeout.reject(failure('the server did not respond to server/discover in time'));
    }, ms);
    // The timer must not keep the process alive after the client has disconnected.
    timer.unref();
    try {
      return await Promise.race([request.response.promise, timeout.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Returns lines of the MCP server, without the responses to our requests; undefined if no line
   * remains.
   */
  withoutResponse(lines: Buffer): Buffer | undefined {
    if (this.#sent.size === 0) return lines;
    const others = [...eachLine(lines)].filter((line) => !this.#handleLine(line));
    return others.length > 0 ? Buffer.concat(others) : undefined;
  }

  #sendDiscover(): DiscoverRequest {
    const request = {
      askedAt: performance.now(),
      response: this.#pending?.response ?? deferred<Discovered>(),
      isLate: false,
    };
    // Each caller of `ask` handles the rejection itself. After all of them have timed out, it must
    // not count as unhandled.
    request.response.promise.catch(() => {});
    const token = crypto.randomUUID();
    const [oldest] = this.#sent.keys();
    if (oldest !== undefined && this.#sent.size >= MAX_SENT) this.#sent.delete(oldest);
    this.#sent.set(token, request);
    this.#pending = request;
    this.#server.write(questionOf(ProbeQuestion.DiscoverLine, token).body);
    return request;
  }

  /** Returns whether the line is the response to one of our requests. */
  #handleLine(line: Buffer): boolean {
    for (const [token, request] of this.#sent) {
      if (!line.includes(token) || !isDiscoverResponse(token, line)) continue;
      this.#sent.delete(token);
      this.#handleResponse(request, line);
      return true;
    }
    return false;
  }

  #handleResponse(request: DiscoverRequest, line: Buffer): void {
    const { askedAt, response } = request;
    // Another response has come before.
    if (response !== this.#pending?.response) return;
    const discovered = discoveredIn(line, askedAt);
    if (discovered !== undefined) {
      // A listen that waits for its bus may still use what was known before.
      this.#known = discovered;
      response.resolve(discovered);
    } else if (request === this.#pending)
      response.reject(failure('the server returned no capabilities for server/discover'));
    else return;
    this.#pending = undefined;
  }
}

function failure(problem: string): ListenError {
  return new ListenError('discover-failed', problem);
}

/** A `server/discover` that the MCP server has not responded to. */
interface DiscoverRequest {
  askedAt: number;
  /** The first response to it, or to a request that repeats it. */
  response: Deferred<Discovered>;
  /** Whether a caller has waited for it in vain: it may be lost, and is repeated. */
  isLate: boolean;
}

/** The number of requests without a response whose responses are still recognized. */
const MAX_SENT = 8;
