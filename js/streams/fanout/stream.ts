import type { Reauthorizer, RenewedRights } from '../../auth/reauthorize.js';
import type { StreamOwner } from '../../bus/opening.js';
import type { ServerStream } from '../../bus/server-stream.js';
import { ListenError } from '../../model/error.js';
import type { EndReason } from '../../model/stats/listen.js';
import { DRAIN_SETTLE_MS } from '../../model/timeouts.js';
import { DeadlineTimer } from '../../timing/deadline-timer.js';
import { type Deferred, deferred } from '../../timing/deferred.js';
import type { Retirement } from '../../wasm/server/bindings.js';
import { ignoringTrap } from '../../wasm/server/guard.js';
import { type BodySource, ListenBody } from '../bodies/listen-body.js';
import {
  type BodyListener,
  type ChunkSink,
  ResponseBody,
  sseResponse,
} from '../bodies/response-body.js';
import type { OwnRequest } from './own-request.js';
import type { TurnEvents } from './turn-events.js';

/** The driver of a stream, as the stream calls it. */
export interface StreamDriver {
  /** The events that are published to its streams. */
  readonly turn: TurnEvents;
  /** Handles the opening of the stream's body. */
  handleOpen(stream: FanoutStream): void;
  /** Marks that the body has room. */
  markReady(stream: FanoutStream): void;
  /** Says who in this process reads the output of the stream. */
  readBy(stream: FanoutStream, reader: number): void;
  /** Whether the caller may receive what the reader writes; if not, authorizes it again. */
  maySend(stream: FanoutStream): boolean;
  /** Writes pending output while the body has room. */
  flush(stream: FanoutStream): void;
  /** Handles the disconnection of the client. */
  leave(stream: FanoutStream): void;
  /** Ends the stream gracefully. `isSettled`: the bus has delivered what was published before. */
  close(stream: FanoutStream, isSettled: boolean): void;
  /** Ends the stream at this time, after its pending output and without a result. */
  retire(stream: FanoutStream, at: number, reason: Retirement): void;
  /** Ends the stream at once, without a result. */
  abort(stream: FanoutStream): void;
  /** Removes the stream. Without `ending`, the core's reason applies. */
  end(stream: FanoutStream, ending?: EndReason): void;
  /** Handles the timer of a stream with its own request context. */
  tick(stream: FanoutStream): void;
  /** Handles the renewed rights of the caller; undefined: it may receive nothing. */
  renew(stream: FanoutStream, reauthorizer: Reauthorizer, rights: RenewedRights | undefined): void;
}

/**
 * One listen stream of a {@link StreamDriver}, and the source of its response body. Kept small,
 * since there may be very many.
 */
export class FanoutStream implements ServerStream, EventListenerObject, BodyListener, BodySource {
  /** Its id in the core; {@link NONE} after a trap. */
  id: number;
  /** The driver that holds it. */
  streams: StreamDriver;
  /** Whether output may be pending in the core. Initially true for the acknowledgment. */
  isBehind = true;
  /** Renews the authorization of the caller; undefined if no renewal is required. */
  readonly reauthorizer: Reauthorizer | undefined;
  readonly owner: StreamOwner;
  /**
   * The request context and timer of the stream, on hosts where each request has its own; otherwise
   * undefined.
   */
  request: OwnRequest | undefined;
  #body: ChunkSink | ResponseBody | undefined;
  #attached: Deferred<void> | undefined;

  constructor(
    streams: StreamDriver,
    id: number,
    owner: StreamOwner,
    reauthorizer: Reauthorizer | undefined,
  ) {
    this.streams = streams;
    this.id = id;
    this.owner = owner;
    this.reauthorizer = reauthorizer;
  }

  /** Returns the response to the listen request, whose body is the stream. */
  response(): Response {
    if (this.request === undefined) return sseResponse(new ListenBody(this));
    const body = new ResponseBody(this);
    this.#body = body;
    return body.response();
  }

  get hasOwnContext(): boolean {
    return this.request !== undefined;
  }

  get holder(): object {
    return this.streams;
  }

  /** Passes each chunk of the output to `onChunk`, instead of writing it to a response. */
  into(onChunk: (chunk: Uint8Array) => void): void {
    const sink = {
      desiredSize: 1,
      enqueue: (chunk: Uint8Array = EMPTY) => {
        if (this.request === undefined) this.streams.markReady(this);
        onChunk(chunk);
      },
      close: () => {},
    };
    const body = this.request === undefined ? undefined : new ResponseBody(this);
    this.#body = body ?? sink;
    if (body !== undefined) body.into(sink);
    else {
      this.onOpen();
      this.pull();
    }
  }

  readBy(reader: number): void {
    this.streams.readBy(this, reader);
  }

  maySend(): boolean {
    return this.reauthorizer === undefined || this.streams.maySend(this);
  }

  /** The body; undefined before the client reads and after it has disconnected. */
  get body(): ChunkSink | ResponseBody | undefined {
    return this.#body;
  }

  /**
   * Resolves once the bus has confirmed the topics of the stream; undefined if nothing is pending.
   *
   * @throws ListenError (as a rejection) `bus-lost`, `bus-full`, and the error with which the bus
   *   was lost.
   */
  get attached(): Promise<void> | undefined {
    return this.#attached?.promise;
  }

  /** Waits for the bus to confirm. */
  awaitAttach(): void {
    this.#attached = deferred();
    // The server may have stopped waiting.
    this.#attached.promise.catch(() => {});
  }

  /** Handles the confirmation of the bus: the stream can be acknowledged. */
  attach(): void {
    this.#attached?.resolve();
    this.#attached = undefined;
  }

  /** Rejects `attached`: the stream cannot be opened. */
  refuse(reason: Error): void {
    this.#attached?.reject(reason);
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#body = controller;
    this.onOpen();
  }

  moveTo(sink: ChunkSink): boolean {
    if ((this.#body as ChunkSink | undefined)?.desiredSize !== 0) return false;
    this.#body = sink;
    this.streams.turn.areMerged = true;
    this.onOpen();
    return true;
  }

  /** Handles room for one chunk. */
  pull(): void {
    this.streams.markReady(this);
    this.onRoom();
  }

  onOpen(): void {
    ignoringTrap(() => this.streams.handleOpen(this));
  }

  onRoom(): void {
    if (this.isBehind) ignoringTrap(() => this.streams.flush(this));
  }

  onDisconnect(): void {
    this.cancel();
  }

  /** Handles the disconnection of the client: there is no body any more. */
  cancel(): void {
    this.#body = undefined;
    this.streams.leave(this);
  }

  /** Handles the abort of the request. */
  handleEvent(): void {
    this.streams.end(this, 'left');
  }

  close(settled?: Promise<boolean>): void {
    this.inContext(() => {
      if (settled === undefined) this.streams.close(this, false);
      else void settled.then((isSettled) => this.streams.close(this, isSettled));
    });
  }

  retire(at: number, reason: Retirement, settled?: Promise<void>): void {
    this.inContext(() => {
      this.streams.retire(this, settled === undefined ? at : at + DRAIN_SETTLE_MS, reason);
      void settled?.then(() => this.streams.retire(this, performance.now(), reason));
    });
  }

  abort(): void {
    this.streams.abort(this);
  }

  endAfterTrap(): void {
    this.afterTrap(() => this.streams.end(this, 'trapped'));
  }

  /**
   * Calls `end` at a random time after a trap, in the request context of the stream, so that not
   * all clients reconnect at once.
   */
  afterTrap(end: () => void): DeadlineTimer {
    const timer = new DeadlineTimer(end);
    this.inContext(() => timer.arm(performance.now() + Math.random() * this.owner.trapMs()));
    return timer;
  }

  /** Runs an action in the request context of the stream. */
  inContext(action: () => void): void {
    if (this.request === undefined) action();
    else this.request.context.run(action);
  }

  /** Releases its resources after it was removed. */
  leave(): void {
    if (this.#attached !== undefined)
      this.refuse(new ListenError('bus-lost', 'the stream ended before the bus confirmed'));
    this.request?.leave();
  }
}

const EMPTY = new Uint8Array();
/** The id of a stream that the core does not know. */
export const NONE = -1;
