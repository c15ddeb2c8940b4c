import type { AttachmentListener, BusConnection } from '../../bus/attachable-bus.js';
import { ListenError } from '../../model/error.js';
import { FixedText, textOf } from '../../wasm/server/bindings.js';
import { FULL, NORMAL, OUTDATED, REDIRECTED, RELEASED } from '../wire/close-codes.js';
import { unavailable } from '../wire/retry.js';
import type { BusConnector, OpenedSocket } from './connector.js';

/** What a socket serves: a stream, the streams of an isolate that share it, or a listener. */
export interface SocketOwner {
  /** Continent code of its first client; empty if unknown. */
  continent: string;
  /** Whether the stream belongs to a session. The bus may release such streams. */
  isSession: boolean;
}

/** A socket to the bus, which lives in the request that opens it. */
export class BusSocket implements BusConnection {
  readonly #connector: BusConnector;
  readonly #owner: SocketOwner;
  /** The first frame, which has all names of a stream; empty once the bus has sent one. */
  #attachFrame: string;
  readonly #listener: AttachmentListener;
  #socket: WebSocket | undefined;
  #hasReceived = false;
  #redirects = 0;
  #hasEnded = false;
  #connecting: Promise<void> = Promise.resolve();

  /** Opens the socket and sends `attachFrame` first; `listener` receives what follows. */
  constructor(
    connector: BusConnector,
    owner: SocketOwner,
    attachFrame: string,
    listener: AttachmentListener,
  ) {
    this.#connector = connector;
    this.#owner = owner;
    this.#attachFrame = attachFrame;
    this.#listener = listener;
    this.#connect();
  }

  /**
   * Closes the socket. Returns false if the socket belongs to another request context and is still
   * open: call this again in that context.
   */
  close(): boolean {
    this.#hasEnded = true;
    return this.#closeSocket();
  }

  /** Resolves once the pending attempt to open a socket has succeeded or failed; never rejects. */
  get connecting(): Promise<void> {
    return this.#connecting;
  }

  /** Sends a further attach frame. */
  send(attachFrame: string): void {
    try {
      this.#socket?.send(attachFrame);
    } catch (cause) {
      this.#handleLost(new ListenError('bus-lost', 'the socket to the bus is closed', { cause }));
    }
  }

  #connect(): void {
    this.#connecting = this.#open().catch((cause: unknown) => {
      this.#handleLost(unavailable('the bus could not be reached', cause));
    });
  }

  async #open(): Promise<void> {
    const opened = await this.#connector.open(this.#owner.continent, () => !this.#hasEnded);
    const { socket } = opened;
    this.#socket = socket;
    socket.accept();
    socket.addEventListener('message', ({ data }) => this.#receive(data));
    socket.addEventListener('close', ({ code, reason }) => this.#closed(code, reason, opened));
    socket.addEventListener('error', () => this.#failed(socket));
    if (this.#hasEnded) this.#closeSocket();
    else socket.send(this.#attachFrame);
  }

  #receive(frame: string | ArrayBuffer): void {
    if (this.#connector.respondsTo(frame, (report) => this.send(report))) return;
    this.#hasReceived = true;
    this.#attachFrame = '';
    if (!this.#hasEnded) this.#listener.onFrame(typeof frame === 'string' ? frame : '');
  }

  #closed(code: number, reason: string, { shard }: OpenedSocket): void {
    if (code === REDIRECTED && shard !== undefined)
      this.#connector.forget(this.#owner.continent, shard);
    if (code === REDIRECTED && this.#mayRedirect()) {
      this.#redirects += 1;
      this.#closeSocket();
      this.#socket = undefined;
      this.#connect();
      return;
    }
    const lost = new ListenError('bus-lost', `the bus closed the socket with ${code}`);
    if (code === REDIRECTED && this.#listener.onRedirected !== undefined) {
      this.#end(this.#listener.onRedirected, lost);
      return;
    }
    if (code === FULL) {
      this.#handleLost(
        new ListenError('bus-full', 'the bus has no room for the topics of the stream'),
      );
      return;
    }
    if (code === OUTDATED) {
      this.#handleLost(
        new ListenError('bus-outdated', `the bus object does not serve this deployment: ${reason}`),
      );
      return;
    }
    const isReleased = code === RELEASED || (code === NORMAL && this.#owner.isSession);
    this.#handleLost(
      isReleased ? new ListenError('bus-released', 'the bus released the stream') : lost,
    );
  }

  /** Ignores a socket that was replaced: a closed socket may still report an error. */
  #failed(socket: WebSocket): void {
    if (this.#socket === socket)
      this.#handleLost(new ListenError('bus-lost', 'the socket to the bus failed'));
  }

  /**
   * Whether to follow a move to another object: a stream that has received no frame has lost no
   * event.
   */
  #mayRedirect(): boolean {
    return !this.#hasEnded && !this.#hasReceived && this.#redirects < MAX_REDIRECTS;
  }

  #handleLost(error: ListenError): void {
    this.#end((error) => this.#listener.onLost(error), error);
  }

  #end(notify: (error: ListenError) => void, error: ListenError): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#closeSocket();
    notify(error);
  }

  #closeSocket(): boolean {
    try {
      this.#socket?.send(textOf(FixedText.Detach));
      this.#socket?.close(NORMAL);
      return true;
    } catch {
      return this.#isClosed();
    }
  }

  /** Whether the socket is closed already. Closing it a second time is not an error. */
  #isClosed(): boolean {
    try {
      return this.#socket?.readyState !== WebSocket.OPEN;
    } catch {
      return false;
    }
  }
}

/** Maximum number of redirects of one socket before its first frame. */
const MAX_REDIRECTS = 3;
