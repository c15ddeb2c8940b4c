import type { BusLink } from '../bus/bus.js';
import { ListenError } from '../error.js';
import { detachMessage } from '../wasm.js';
import { BUS_HEADER } from './bus-header.js';
import { NORMAL, RELEASED } from './close-code.js';
import { retrying, unavailable } from './stub-error.js';

/** What can be asked of the bus object for one stream. */
export interface BusDoor {
  fetch(url: string, init: { headers: Record<string, string> }): Promise<Response>;
}

/** One stream's socket to the bus. Workers forbid sharing a socket between requests, so each stream has its own. */
export class BusSocket {
  readonly #link: BusLink;
  readonly #isSession: boolean;
  #socket: WebSocket | undefined;
  #isOver = false;

  /**
   * Opens the socket and sends `attachFrame` first; `link` hears the rest.
   *
   * @param bus - answers with a fresh stub: one that has failed once may go on failing.
   * @param isSession - whether it is for the stream of a session, which a bus may let go.
   */
  constructor(bus: () => BusDoor, attachFrame: string, link: BusLink, isSession: boolean) {
    this.#link = link;
    this.#isSession = isSession;
    this.#open(bus, attachFrame).catch((cause: unknown) => {
      this.#lose(unavailable('the bus could not be reached', cause));
    });
  }

  /** Closes the socket; may be called twice. */
  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#part();
  }

  /** Sends one more attach. */
  send(attachFrame: string): void {
    try {
      this.#socket?.send(attachFrame);
    } catch (cause) {
      this.#lose(new ListenError('bus-lost', 'the socket to the bus is closed', { cause }));
    }
  }

  async #open(bus: () => BusDoor, attachFrame: string): Promise<void> {
    const init = { headers: { upgrade: 'websocket', [BUS_HEADER]: '1' } };
    const { status, webSocket } = await retrying(ATTEMPTS, () => this.#ask(bus(), init));
    if (!webSocket) throw new ListenError('bus-unavailable', `the bus answered ${status} instead of a socket`);
    this.#socket = webSocket;
    webSocket.accept();
    webSocket.addEventListener('message', ({ data }) => this.#receive(data));
    webSocket.addEventListener('close', ({ code }) => this.#lose(this.#closed(code)));
    webSocket.addEventListener('error', () => this.#lose(new ListenError('bus-lost', 'the socket to the bus failed')));
    if (this.#isOver) this.#part();
    else webSocket.send(attachFrame);
  }

  /** A call that fails long after its socket was given up is not made again: it would open one for nobody. */
  async #ask(bus: BusDoor, init: Parameters<BusDoor['fetch']>[1]): Promise<Response> {
    if (this.#isOver) throw new ListenError('bus-unavailable', 'the socket was given up');
    return await bus.fetch(BUS_URL, init);
  }

  #receive(frame: string | ArrayBuffer): void {
    if (!this.#isOver) this.#link.receive(typeof frame === 'string' ? frame : '');
  }

  #closed(code: number): ListenError {
    const isReleased = code === RELEASED || (code === NORMAL && this.#isSession);
    return isReleased
      ? new ListenError('bus-released', 'the bus has let the stream go')
      : new ListenError('bus-lost', `the bus closed the socket with ${code}`);
  }

  #lose(error: ListenError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#part();
    this.#link.lost(error);
  }

  #part(): void {
    try {
      this.#socket?.send(detachMessage());
      this.#socket?.close(NORMAL);
    } catch {
      // The socket is closed already, which is all that was wanted.
    }
  }
}

/** An object that is being moved answers the second time. A stream that is open comes back later anyway. */
const ATTEMPTS = 2;
/** Objects are addressed by their stub; the URL is a formality. */
const BUS_URL = 'https://mcp-listen.internal/attach';
