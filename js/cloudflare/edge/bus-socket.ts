import type { AttachmentListener, BusConnection } from '../../bus/attachable-bus.js';
import { ListenError } from '../../model/error.js';
import { FixedText, textOf } from '../../wasm/server/bindings.js';
import { FULL, MOVED, NORMAL, OUTDATED, RELEASED } from '../wire/close-codes.js';
import { unavailable } from '../wire/retry.js';
import type { BusConnector, OpenedSocket } from './connector.js';

/** Whose stream a socket is for. */
export interface SocketOwner {
  /** On which continent its client is; empty where that is not known. */
  continent: string;
  /** Whether it is the stream of a session, which a bus may let go. */
  isSession: boolean;
}

/** One stream's socket to the bus. Workers forbid sharing a socket between requests, so each stream has its own. */
export class BusSocket implements BusConnection {
  readonly #doors: BusConnector;
  readonly #owner: SocketOwner;
  readonly #attachFrame: string;
  readonly #link: AttachmentListener;
  #socket: WebSocket | undefined;
  #hasHeard = false;
  #moves = 0;
  #isOver = false;
  #connecting: Promise<void> = Promise.resolve();

  /** Opens the socket and sends `attachFrame` first; `link` hears the rest. */
  constructor(
    doors: BusConnector,
    owner: SocketOwner,
    attachFrame: string,
    link: AttachmentListener,
  ) {
    this.#doors = doors;
    this.#owner = owner;
    this.#attachFrame = attachFrame;
    this.#link = link;
    this.#connect();
  }

  /** Closes the socket. False: it belongs to another request than this is on behalf of, and is still open; that one is to call again. */
  leave(): boolean {
    this.#isOver = true;
    return this.#part();
  }

  /** Settles when what was begun to be opened is open or not; never rejects. */
  get connecting(): Promise<void> {
    return this.#connecting;
  }

  /** Sends one more attach. */
  send(attachFrame: string): void {
    try {
      this.#socket?.send(attachFrame);
    } catch (cause) {
      this.#lose(new ListenError('bus-lost', 'the socket to the bus is closed', { cause }));
    }
  }

  #connect(): void {
    this.#connecting = this.#open().catch((cause: unknown) => {
      this.#lose(unavailable('the bus could not be reached', cause));
    });
  }

  async #open(): Promise<void> {
    const opened = await this.#doors.open(this.#owner.continent, () => !this.#isOver);
    const { socket } = opened;
    this.#socket = socket;
    socket.accept();
    socket.addEventListener('message', ({ data }) => this.#receive(data));
    socket.addEventListener('close', ({ code, reason }) => this.#closed(code, reason, opened));
    socket.addEventListener('error', () => this.#failed(socket));
    if (this.#isOver) this.#part();
    else socket.send(this.#attachFrame);
  }

  #receive(frame: string | ArrayBuffer): void {
    this.#hasHeard = true;
    if (!this.#isOver) this.#link.receive(typeof frame === 'string' ? frame : '');
  }

  #closed(code: number, reason: string, { shard }: OpenedSocket): void {
    if (code === MOVED && shard !== undefined) this.#doors.forget(this.#owner.continent, shard);
    if (code === MOVED && this.#mayMove()) {
      this.#moves += 1;
      this.#part();
      this.#socket = undefined;
      this.#connect();
      return;
    }
    const lost = new ListenError('bus-lost', `the bus closed the socket with ${code}`);
    if (code === MOVED && this.#link.sentOn !== undefined) {
      this.#end(this.#link.sentOn, lost);
      return;
    }
    if (code === FULL) {
      this.#lose(new ListenError('bus-full', 'the bus has no room for what the stream names'));
      return;
    }
    if (code === OUTDATED) {
      this.#lose(
        new ListenError('bus-outdated', `the bus object does not serve this deployment: ${reason}`),
      );
      return;
    }
    const isReleased = code === RELEASED || (code === NORMAL && this.#owner.isSession);
    this.#lose(
      isReleased ? new ListenError('bus-released', 'the bus has let the stream go') : lost,
    );
  }

  /** A socket that was closed may fail after that. */
  #failed(socket: WebSocket): void {
    if (this.#socket === socket)
      this.#lose(new ListenError('bus-lost', 'the socket to the bus failed'));
  }

  /** A stream that is sent on before it was ever answered has lost nothing. */
  #mayMove(): boolean {
    return !this.#isOver && !this.#hasHeard && this.#moves < MAX_MOVES;
  }

  #lose(error: ListenError): void {
    this.#end((error) => this.#link.lost(error), error);
  }

  #end(tell: (error: ListenError) => void, error: ListenError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#part();
    tell(error);
  }

  #part(): boolean {
    try {
      this.#socket?.send(textOf(FixedText.Detach));
      this.#socket?.close(NORMAL);
      return true;
    } catch {
      return this.#isClosed();
    }
  }

  /** What was closed cannot be closed again, which is no failure. */
  #isClosed(): boolean {
    try {
      return this.#socket?.readyState !== WebSocket.OPEN;
    } catch {
      return false;
    }
  }
}

const MAX_MOVES = 3;
