import type { AttachmentListener, BusConnection } from '../../bus/attachable-bus.js';
import { DeadlineTimer } from '../../timing/deadline-timer.js';
import { deferred } from '../../timing/deferred.js';
import { RequestContext } from '../../timing/request-context.js';
import { ignoringTrap } from '../../wasm/server/guard.js';
import type { Member } from './member.js';

/** Handles the events of an owner. */
export interface OwnerListener {
  receive(frame: string): void;
  lost(error: Error): void;
  sentOn(error: Error): void;
  tick(): void;
  /** Handles what was received. */
  serve(): void;
}

/** Options of an owner. */
export interface OwnerOptions {
  connect(frame: string, link: AttachmentListener): BusConnection;
  waitUntil(what: Promise<void>): void;
  /** Whether other requests may have to close its sockets. */
  isShared: boolean;
  /**
   * Whether frames come over a network: those that have arrived together are then handled together.
   */
  isApart: boolean;
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
  readonly #ends: OwnerListener;
  readonly #timer: DeadlineTimer;
  readonly #stopped = deferred();
  /**
   * Runs in the I/O context of the request that opened the socket, even after that request was
   * cancelled.
   */
  readonly #pulse: ReturnType<typeof setInterval> | null;
  #socket: BusConnection | undefined;
  /** Sockets that are still open, because another request tried to close them. */
  #left: BusConnection[] = [];
  #isStopping = false;
  #isAwaited = false;
  #attempts = 0;

  constructor(member: Member, term: number, options: OwnerOptions, ends: OwnerListener) {
    this.member = member;
    this.term = term;
    this.#options = options;
    this.#ends = ends;
    this.context = new RequestContext(options.onError);
    // A cancelled request must live on until it has closed its sockets, including one that is still
    // being opened.
    options.waitUntil(this.#stopped.promise);
    this.#timer = new DeadlineTimer(() => ends.tick());
    this.#pulse = options.isShared ? setInterval(() => this.#beat(), PULSE_MS) : null;
  }

  /** Opens a socket in place of the current one and sends `frame` first. */
  open(frame: string): void {
    this.close();
    const { receive, lost, sentOn } = this.#ends;
    this.#socket = this.#options.connect(frame, { receive, lost, sentOn });
  }

  /** Sends a frame. */
  send(frame: string): void {
    this.#socket?.send(frame);
  }

  /** Closes the socket. */
  close(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    if (socket?.leave() === false) this.#left.push(socket);
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
  received(isAnswer: boolean): void {
    if (isAnswer) this.#serve();
    else if (!this.#isAwaited) this.#await();
  }

  #await(): void {
    this.#isAwaited = true;
    const serve = (): void => {
      this.#isAwaited = false;
      this.#serve();
    };
    if (this.#options.isApart) setTimeout(serve, 0);
    else queueMicrotask(serve);
  }

  #serve(): void {
    ignoringTrap(() => this.#ends.serve());
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
   * Closes all sockets. If this runs in another request, they stay open and the pulse tries again.
   */
  #finish(): void {
    this.#timer.clear();
    const connecting = this.#socket?.connecting;
    this.close();
    this.#closeLeft();
    this.#attempts += 1;
    if (connecting !== undefined) void connecting.then(() => this.#end());
    else this.#end();
  }

  #end(): void {
    if (this.#pulse !== null && this.#left.length > 0 && this.#attempts < MAX_ATTEMPTS) return;
    if (this.#pulse !== null) clearInterval(this.#pulse);
    this.#stopped.resolve();
  }

  #beat(): void {
    if (this.#isStopping) this.#finish();
    else this.#closeLeft();
  }

  #closeLeft(): void {
    this.#left = this.#left.filter((socket) => !socket.leave());
  }
}

/** Milliseconds between attempts to close a socket that another request could not close. */
const PULSE_MS = 1_000;
/** Attempts before a socket is given up: after half a minute its request is considered gone. */
const MAX_ATTEMPTS = 30;
