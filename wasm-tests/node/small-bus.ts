import type { BusDoors } from '../../dist/cloudflare/bus-doors.js';
import { Bus } from '../../dist/wasm.js';

/** The resource that its events are about. */
export const URI = 'note://a';
/** One of its events. */
export const EVENT = JSON.stringify({ kind: 'resource_updated', uri: URI });

/** A bus of one subject with all that it ever told, and the sockets to it. */
export class SmallBus {
  readonly sockets: SmallSocket[] = [];
  /** What requests were asked to live for. */
  readonly openings: Promise<void>[] = [];
  readonly #bus = new Bus('epoch', 0, 0);
  #events = 0;

  /** The ways to it. */
  get doors(): BusDoors {
    const open = async () => ({ socket: this.#open() as unknown as WebSocket, shard: undefined });
    const waitUntil = (opening: Promise<void>): void => void this.openings.push(opening);
    return { open, forget: () => {}, waitUntil } as unknown as BusDoors;
  }

  /** Nothing comes from the sockets that there are any more. */
  fallSilent(): void {
    for (const socket of this.sockets) socket.isSilent = true;
  }

  /** What comes from now on arrives. */
  speakAgain(): void {
    for (const socket of this.sockets) socket.isSilent = false;
  }

  publish(event = EVENT): void {
    this.#events += 1;
    this.#bus.publish(event, 0);
    for (let number = 0; number < this.#bus.deliveries; number += 1) {
      for (const edge of this.#bus.edges(number) ?? []) this.#say(edge, this.#bus.message(number));
    }
  }

  #open(): SmallSocket {
    const edge = this.#bus.connect();
    const socket: SmallSocket = new SmallSocket(edge, (frame) => {
      const received = this.#bus.receive(edge, frame);
      this.#say(edge, received.answer);
      if (received.replayAfter !== undefined) this.#replay(edge);
      if (received.isDetached) socket.isClosed = true;
    });
    this.sockets.push(socket);
    return socket;
  }

  #replay(edge: number): void {
    const replay = this.#bus.replay(edge);
    if (replay === undefined) return;
    replay.push(this.#events, EVENT);
    for (const frame of this.#bus.finishReplay(edge, replay)) this.#say(edge, frame);
  }

  #say(edge: number, frame: string | undefined): void {
    if (frame !== undefined) this.sockets.find((socket) => socket.edge === edge)?.hear(frame);
  }
}

class SmallSocket {
  readonly edge: number;
  readonly send: (frame: string) => void;
  isSilent = false;
  /** How many frames were sent on it. */
  sent = 0;
  /** Whether another request than its own has it in its hands. */
  isForeign = false;
  isClosed = false;
  #hear: (message: { data: string }) => void = () => {};

  constructor(edge: number, send: (frame: string) => void) {
    this.edge = edge;
    this.send = (frame) => {
      this.#expectOwn();
      this.sent += 1;
      send(frame);
    };
  }

  accept(): void {}

  close(): void {
    this.#expectOwn();
    this.isClosed = true;
  }

  get readyState(): number {
    this.#expectOwn();
    return this.isClosed ? WebSocket.CLOSED : WebSocket.OPEN;
  }

  #expectOwn(): void {
    if (this.isForeign) throw new Error('of another request');
  }

  addEventListener(type: string, hear: (message: { data: string }) => void): void {
    if (type === 'message') this.#hear = hear;
    else if (type === 'close') this.break = () => hear({ data: '' });
  }

  /** It is lost. */
  break: () => void = () => {};

  hear(data: string): void {
    if (!this.isSilent) this.#hear({ data });
  }
}
