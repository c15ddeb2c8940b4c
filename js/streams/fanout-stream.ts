import type { Reauthorizer } from '../auth/reauthorize.js';
import type { StreamOwner } from '../bus/opening.js';
import type { ServerStream } from '../bus/server-stream.js';
import { ListenError } from '../model/error.js';
import { type Deferred, deferred } from '../timing/deferred.js';
import type { Retirement } from '../wasm/server/bindings.js';
import { ignoringTrap } from '../wasm/server/guard.js';
import { NO_QUEUE, ResponseBody, sseResponse } from './bodies/response-body.js';
import type { FanoutDriver } from './fanout-driver.js';
import type { OwnRequest } from './own-request.js';
import { SETTLE_MS } from './registry.js';

/** One listen stream of a {@link FanoutDriver}; the source of its response's body. There may be very many, so it holds little. */
export class FanoutStream implements ServerStream, EventListenerObject {
  /** Its number in the core; {@link NONE} once that has trapped. */
  id: number;
  /** What holds it. */
  streams: FanoutDriver;
  /** Whether something waits in the core; the acknowledgment does from the beginning. */
  isBehind = true;
  /** How to ask again what its caller may hear; undefined: nobody has to be asked. */
  readonly grant: Reauthorizer | undefined;
  readonly owner: StreamOwner;
  /** What belongs to its request, on hosts where that is its own; otherwise undefined. */
  request: OwnRequest | undefined;
  #body: ReadableStreamDefaultController<Uint8Array> | ResponseBody | undefined;
  #attached: Deferred<void> | undefined;

  constructor(
    streams: FanoutDriver,
    id: number,
    owner: StreamOwner,
    grant: Reauthorizer | undefined,
  ) {
    this.streams = streams;
    this.id = id;
    this.owner = owner;
    this.grant = grant;
  }

  /** The answer to the listen request: its body is the stream. */
  response(): Response {
    if (this.request === undefined) return sseResponse(new ReadableStream(this, NO_QUEUE));
    const body = new ResponseBody({
      begun: () => ignoringTrap(() => this.streams.begin(this)),
      roomy: () => this.#roomy(),
      left: () => this.cancel(),
    });
    this.#body = body;
    return body.response();
  }

  /** What it writes to; undefined: nobody reads yet, or any more. */
  get body(): ReadableStreamDefaultController<Uint8Array> | ResponseBody | undefined {
    return this.#body;
  }

  /**
   * Resolves once the bus has confirmed what it wants; undefined: it has.
   *
   * @throws ListenError (as a rejection) `bus-lost`, `bus-full`, and what the bus was lost with.
   */
  get attached(): Promise<void> | undefined {
    return this.#attached?.promise;
  }

  /** The bus has yet to confirm. */
  await(): void {
    this.#attached = deferred();
    // Its server may have stopped waiting.
    this.#attached.promise.catch(() => {});
  }

  /** It can be acknowledged. */
  attach(): void {
    this.#attached?.resolve();
    this.#attached = undefined;
  }

  /** It cannot be opened. */
  refuse(why: Error): void {
    this.#attached?.reject(why);
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#body = controller;
    ignoringTrap(() => this.streams.begin(this));
  }

  /** Somebody reads: there is room for one write. */
  pull(): void {
    this.streams.vacate(this);
    this.#roomy();
  }

  /** The reader has left, and there is no body any more. */
  cancel(): void {
    this.#body = undefined;
    this.streams.leave(this);
  }

  /** The request was aborted. */
  handleEvent(): void {
    this.streams.end(this, 'left');
  }

  close(settled?: Promise<boolean>): void {
    this.inContext(() => {
      if (settled === undefined) this.streams.close(this, false);
      else void settled.then((isSettled) => this.streams.close(this, isSettled));
    });
  }

  retire(at: number, why: Retirement, settled?: Promise<void>): void {
    this.inContext(() => {
      this.streams.retire(this, settled === undefined ? at : at + SETTLE_MS, why);
      void settled?.then(() => this.streams.retire(this, performance.now(), why));
    });
  }

  abort(): void {
    this.streams.abort(this);
  }

  /** Does something on behalf of its own request. */
  inContext(action: () => void): void {
    if (this.request === undefined) action();
    else this.request.context.run(action);
  }

  /** It is held no more. */
  leave(): void {
    this.refuse(new ListenError('bus-lost', 'the stream ended before the bus confirmed'));
    this.request?.leave();
  }

  #roomy(): void {
    if (this.isBehind) ignoringTrap(() => this.streams.flush(this));
  }
}

/** The number of a stream that the core does not know. */
export const NONE = -1;
