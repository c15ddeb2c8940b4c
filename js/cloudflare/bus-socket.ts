import type { BusAttachment, BusLink } from '../bus/bus.js';
import { ListenError } from '../error.js';
import { detachMessage } from '../wasm.js';
import { BUS_HEADER } from './bus-header.js';

/** What can be asked of the bus object for one stream. */
export interface BusDoor {
  fetch(url: string, init: { headers: Record<string, string> }): Promise<Response>;
}

/** One stream's socket to the bus. Workers forbid sharing a socket between requests, so each stream has its own. */
export class BusSocket implements BusAttachment {
  readonly #link: BusLink;
  #socket: WebSocket | undefined;
  #isOver = false;

  /** Opens the socket and sends `attachFrame` first; `link` hears the rest. */
  constructor(bus: BusDoor, attachFrame: string, link: BusLink) {
    this.#link = link;
    this.#open(bus, attachFrame).catch((cause: unknown) => {
      this.#lose(new ListenError('bus-unavailable', 'the bus could not be reached', { cause }));
    });
  }

  detach(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#leave();
  }

  async #open(bus: BusDoor, attachFrame: string): Promise<void> {
    const { status, webSocket } = await bus.fetch(BUS_URL, {
      headers: { upgrade: 'websocket', [BUS_HEADER]: '1' },
    });
    if (!webSocket) throw new ListenError('bus-unavailable', `the bus answered ${status} instead of a socket`);
    this.#socket = webSocket;
    webSocket.accept();
    webSocket.addEventListener('message', ({ data }) => this.#receive(data));
    webSocket.addEventListener('close', () => this.#lose(new ListenError('bus-lost', 'the bus closed the socket')));
    webSocket.addEventListener('error', () => this.#lose(new ListenError('bus-lost', 'the socket to the bus failed')));
    if (this.#isOver) this.#leave();
    else webSocket.send(attachFrame);
  }

  #receive(frame: string | ArrayBuffer): void {
    if (!this.#isOver) this.#link.receive(typeof frame === 'string' ? frame : '');
  }

  #lose(error: ListenError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#link.lost(error);
  }

  #leave(): void {
    try {
      this.#socket?.send(detachMessage());
      this.#socket?.close(NORMAL_CLOSURE);
    } catch {
      // The socket is closed already, which is all that was wanted.
    }
  }
}

const NORMAL_CLOSURE = 1000;
/** Objects are addressed by their stub; the URL is a formality. */
const BUS_URL = 'https://mcp-listen.internal/attach';
