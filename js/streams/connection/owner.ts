import type { AttachmentListener, BusConnection } from '../../bus/attachable-bus.js';
import { DeadlineTimer } from '../../timing/deadline-timer.js';
import { deferred } from '../../timing/deferred.js';
import { RequestContext } from '../../timing/request-context.js';
import { ignoringTrap } from '../../wasm/server/guard.js';
import type { Member } from './member.js';

/** Handles the events of an owner. */
export interface OwnerListener {
  onFrame(frame: string): void;
  onLost(error: Error): void;
  onRedirected(error: Error): void;
  onDeadline(): void;
  /** Handles what was received. */
  onReceived(): void;
}

/** Options of an owner. */
export interface OwnerOptions {
  connect(frame: string, listener: AttachmentListener): BusConnection;
  waitUntil(work: Promise<void>): void;
  /** Whether other requests may have to close its sockets. */
  isShared: boolean;
  /**
   * Whether each stream has its own request context. Frames then come over a network, and those
   * that have arrived together are handled together.
   */
  hasOwnContexts: boolean;
  onError: (error: Error) => void;
}

/** Owns the socket of a connection, and its timer, in the request context of one stream. */
export class ConnectionOwner {
  readonly member: Member;
  /**
   * The request context that owns the socket: the member's, unless its request was cancelled just
   * before.
   */
  readonly context: RequestContext;
  /** The term of the lease in which it owns the socket. */
  readonly term: number;
  readonly #options: OwnerOptions;
  readonly #listener: OwnerListener;
  readonly #timer: DeadlineTimer;
  readonly #stopped = deferred();
  /**
   * Runs in the I/O context of the request that opened the socket, even after that request was
   * cancelled.
   */
  readonly #closeTimer: ReturnType<typeof setInterval> | null;
  #socket: BusConnection | undefined;
  /** Sockets that are still open, because another request tried to close them. */
  #unclosed: BusConnection[] = [];
  #isStopping = false;
  #isScheduled = false;
  #closeAttempts = 0;

  constructor(member: Member, term: number, options: OwnerOptions, listener: OwnerListener) {
    this.member = member;
    this.term = term;
    this.#options = options;
    this.#listener = listener;
    this.context = new RequestContext(options.onError);
    // A cancelled request must live on until it has closed its sockets, including one that is still
    // being opened.
    options.waitUntil(this.#stopped.promise);
    this.#timer = new DeadlineTimer(() => listener.onDeadline());
    this.#closeTimer = options.isShared
      ? setInterval(() => this.#retryClose(), CLOSE_RETRY_MS)
      : null;
  }

  /** Opens a socket in place of the current one and sends `frame` first. */
  open(frame: string): void {
    this.close();
    const { onFrame, onLost, onRedirected } = this.#listener;
    this.#socket = this.#options.connect(frame, { onFrame, onLost, onRedirected });
  }

  /** Sends a frame. */
  send(frame: string): void {
    this.#socket?.send(frame);
  }

  /** Closes the socket. */
  close(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    if (socket?.close() === false) this.#unclosed.push(socket);
  }

  /** Sets the timer. */
  arm(deadline: number | undefined): void {
    this.#timer.arm(deadline);
  }

  /**
   * Handles the arrival of a frame, in the context of the request that owns the socket. Serves at
   * once if requests wait for the frame. Otherwise serves all frames of one turn of the event loop
   * together, so that each stream is written to once.
   */
  received(isConfirmation: boolean): void {
    if (isConfirmation) this.#serve();
    else if (!this.#isScheduled) this.#schedule();
  }

  #schedule(): void {
    this.#isScheduled = true;
    const serve = (): void => {
      this.#isScheduled = false;
      this.#serve();
    };
    if (this.#options.hasOwnContexts) setTimeout(serve, 0);
    else queueMicrotask(serve);
  }

  #serve(): void {
    ignoringTrap(() => this.#listener.onReceived());
  }

  /**
   * Closes the sockets and clears the timer. Can be called repeatedly, and by another request than
   * the one that owns the socket.
   */
  stop(): void {
    this.#isStopping = true;
    this.context.run(() => this.#finish());
    this.context.close();
  }

  /**
   * Closes all sockets. If this runs in another request, they stay open and the timer tries again.
   */
  #finish(): void {
    this.#timer.clear();
    const connecting = this.#socket?.connecting;
    this.close();
    this.#closeUnclosed();
    this.#closeAttempts += 1;
    if (connecting !== undefined) void connecting.then(() => this.#end());
    else this.#end();
  }

  #end(): void {
    if (
      this.#closeTimer !== null &&
      this.#unclosed.length > 0 &&
      this.#closeAttempts < MAX_ATTEMPTS
    )
      return;
    if (this.#closeTimer !== null) clearInterval(this.#closeTimer);
    this.#stopped.resolve();
  }

  #retryClose(): void {
    if (this.#isStopping) this.#finish();
    else this.#closeUnclosed();
  }

  #closeUnclosed(): void {
    this.#unclosed = this.#unclosed.filter((socket) => !socket.close());
  }
}

/** Milliseconds between attempts to close a socket that another request could not close. */
const CLOSE_RETRY_MS = 1_000;
/** Attempts before a socket is given up: after half a minute its request is considered gone. */
const MAX_ATTEMPTS = 30;
