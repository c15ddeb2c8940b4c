import type { BusConnector } from '../../../dist/cloudflare/edge/connector.js';
import { PerInstance } from '../../../dist/wasm/per-instance.js';
import { Bus, type BusLog } from '../../../dist/wasm/server/bindings.js';

/** The resource that its events are about. */
export const URI = 'note://a';
/** An update of that resource. */
export const EVENT = JSON.stringify({ kind: 'resource_updated', uri: URI });

/**
 * A bus that keeps its whole log in memory, and the sockets to it, which a test can refuse, mute
 * and break.
 */
export class SmallBus {
  readonly sockets: SmallSocket[] = [];
  /** What requests were kept alive for. */
  readonly openings: Promise<void>[] = [];
  /** What happens to a new socket: it opens, is refused, or gets no response. */
  availability: Availability = 'open';
  /** How many of the next batches are lost. */
  muted = 0;
  readonly #log: string[] = [];
  /** The log, as the core reads it. */
  readonly #reads: BusLog = {
    epoch: 'epoch',
    position: 0,
    floor: 0,
    after: (position) => this.#logged().slice(position).values(),
    at: (positions) =>
      this.#logged()
        .filter(({ position }) => positions.includes(position))
        .values(),
  };
  /** A real bus is a separate object with a separate core. */
  readonly #core = new PerInstance(() => new Bus(this.#reads, undefined));

  get #bus(): Bus {
    return this.#core.value;
  }

  #logged(): { position: number; event: string }[] {
    return this.#log.map((event, place) => ({ position: place + 1, event }));
  }

  /** Opens sockets to this bus. */
  get connector(): BusConnector {
    const open = async () => ({ socket: this.#enter() as unknown as WebSocket, shard: undefined });
    const waitUntil = (opening: Promise<void>): void => void this.openings.push(opening);
    const respondsTo = (): boolean => false;
    return { open, forget: () => {}, waitUntil, respondsTo } as unknown as BusConnector;
  }

  /** Mutes the open sockets. */
  fallSilent(): void {
    for (const socket of this.sockets) socket.isSilent = true;
  }

  /**
   * Delays what is sent on the open sockets to later in the same turn, as a network does.
   */
  delay(): void {
    for (const socket of this.sockets) {
      const { send } = socket;
      Object.assign(socket, { send: (frame: string) => queueMicrotask(() => send(frame)) });
    }
  }

  /** Unmutes the open sockets. */
  speakAgain(): void {
    for (const socket of this.sockets) socket.isSilent = false;
  }

  publish(event = EVENT): void {
    this.#log.push(event);
    for (const { edges, text } of this.#bus.publish(event, 0) ?? []) {
      for (const edge of edges) this.#deliver(edge, text);
    }
  }

  #enter(): SmallSocket {
    const socket = this.#open();
    if (this.availability === 'open') return socket;
    if (this.availability === 'silent') socket.isSilent = true;
    else {
      socket.isClosed = true;
      throw Object.assign(new Error(this.availability), {
        overloaded: this.availability === 'overloaded',
      });
    }
    return socket;
  }

  #open(): SmallSocket {
    const bus = this.#bus;
    const edge = bus.connect(undefined, undefined, 0);
    const socket: SmallSocket = new SmallSocket(edge, (frame) => {
      if (bus !== this.#bus) return;
      const { since } = JSON.parse(frame) as { since?: number };
      if (since !== undefined) socket.since ??= since;
      const received = bus.receive(edge, frame, 0);
      if (received.kind === 'followed')
        for (const frame of received.frames) this.#deliver(edge, frame);
      if (received.kind === 'detached') socket.isClosed = true;
    });
    this.sockets.push(socket);
    return socket;
  }

  #deliver(edge: number, frame: string | undefined): void {
    if (frame === undefined) return;
    if (this.muted > 0 && frame.includes('"type":"batch"')) this.muted -= 1;
    else this.sockets.findLast((socket) => socket.edge === edge)?.receive(frame);
  }
}

/** See {@link SmallBus.availability}. */
export type Availability = 'open' | 'down' | 'overloaded' | 'silent';

export class SmallSocket {
  readonly edge: number;
  readonly send: (frame: string) => void;
  isSilent = false;
  /** The number of frames that were sent on it. */
  sent = 0;
  /** Whether another request than the one that opened it uses it. */
  isForeign = false;
  isClosed = false;
  /** The position from which its first follow request resumes. */
  since: number | undefined;
  #receive: (message: { data: string }) => void = () => {};

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

  addEventListener(type: string, receive: (message: { data: string }) => void): void {
    if (type === 'message') this.#receive = receive;
    else if (type === 'close')
      this.#close = receive as unknown as (event: { code: number; reason: string }) => void;
  }

  #close: (event: { code: number; reason: string }) => void = () => {};

  /** Breaks the connection. */
  break(code = 1_006): void {
    this.isClosed = true;
    this.#close({ code, reason: '' });
  }

  receive(data: string): void {
    if (!this.isSilent) this.#receive({ data });
  }
}
