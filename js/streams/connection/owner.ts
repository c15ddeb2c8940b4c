import type { AttachmentListener, BusConnection } from '../../bus/attachable-bus.js';
import { DeadlineTimer } from '../../timing/deadline-timer.js';
import { deferred } from '../../timing/deferred.js';
import { RequestContext } from '../../timing/request-context.js';
import { ignoringTrap } from '../../wasm/server/guard.js';
import type { Member } from './member.js';

/** What a holder tells its line. */
export interface OwnerListener {
  receive(frame: string): void;
  lost(error: Error): void;
  sentOn(error: Error): void;
  tick(): void;
  /** What was received is to be served now. */
  serve(): void;
}

/** What a holder takes from its line. */
export interface OwnerOptions {
  connect(frame: string, link: AttachmentListener): BusConnection;
  waitUntil(what: Promise<void>): void;
  /** Whether other requests may have to close what it has. */
  isShared: boolean;
  /** Whether it comes over a network: what is here together is then taken in together. */
  isApart: boolean;
  onError: (error: Error) => void;
}

/** The stream whose request has the socket of a line, and its timer, for as long as it does. */
export class ConnectionOwner {
  readonly member: Member;
  /** The request that has them: that of the member, unless it was cancelled at the very moment. */
  readonly context: RequestContext;
  /** Which of all terms it has the socket in. */
  readonly term: number;
  readonly #options: OwnerOptions;
  readonly #ends: OwnerListener;
  readonly #timer: DeadlineTimer;
  readonly #stopped = deferred();
  /** Runs on behalf of the request that has the socket, also where that has ended and `context` runs on behalf of whoever asks. */
  readonly #pulse: ReturnType<typeof setInterval> | null;
  #socket: BusConnection | undefined;
  /** Sockets that are to be closed, and were not, because another request tried. */
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
    // A request that is cancelled must live to close what it has, and what it is about to open.
    options.waitUntil(this.#stopped.promise);
    this.#timer = new DeadlineTimer(() => ends.tick());
    this.#pulse = options.isShared ? setInterval(() => this.#beat(), PULSE_MS) : null;
  }

  /** Opens a socket in place of the one that there is, and sends this first. */
  open(frame: string): void {
    this.close();
    const { receive, lost, sentOn } = this.#ends;
    this.#socket = this.#options.connect(frame, { receive, lost, sentOn });
  }

  /** Sends one more frame. */
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
   * Something was received, which runs on behalf of this request. What requests wait for is served at once. Everything else that comes
   * over the network in the same turn of the event loop is served together: it is written once to each stream.
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

  /** Holds nothing any more; may be called again, and by another request than the one that has the socket. */
  stop(): void {
    this.#isStopping = true;
    this.context.run(() => this.#finish());
    this.context.close();
  }

  /** Where this runs on behalf of another request, sockets stay open, and the pulse comes to it again. */
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

/** Milliseconds after which a socket that another request could not close is closed. */
const PULSE_MS = 1_000;
/** What cannot be closed for half a minute belongs to a request that is gone. */
const MAX_ATTEMPTS = 30;
