import type { BusConnector } from '../../../dist/cloudflare/edge/connector.js';
import { PerInstance } from '../../../dist/wasm/per-instance.js';
import { Bus, type BusLog } from '../../../dist/wasm/server/bindings.js';

/** The resource that its events are about. */
export const URI = 'note://a';
/** One of its events. */
export const EVENT = JSON.stringify({ kind: 'resource_updated', uri: URI });

/**
 * A bus with all that it ever told, and the sockets to it, between which and their streams anything
 * can happen.
 */
export class SmallBus {
  readonly sockets: SmallSocket[] = [];
  /** What requests were asked to live for. */
  readonly openings: Promise<void>[] = [];
  /** What happens to who opens a socket: it gets through, is refused, or is never answered. */
  door: Door = 'open';
  /** Events on their way that are lost. */
  muted = 0;
  readonly #log: string[] = [];
  /** What its core reads of the log. */
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
  /** A real one is an object of its own, with a core of its own. */
  readonly #core = new PerInstance(() => new Bus(this.#reads, undefined));

  get #bus(): Bus {
    return this.#core.value;
  }

  #logged(): { position: number; event: string }[] {
    return this.#log.map((event, place) => ({ position: place + 1, event }));
  }

  /** The ways to it. */
  get doors(): BusConnector {
    const open = async () => ({ socket: this.#enter() as unknown as WebSocket, shard: undefined });
    const waitUntil = (opening: Promise<void>): void => void this.openings.push(opening);
    return { open, forget: () => {}, waitUntil } as unknown as BusConnector;
  }

  /** Nothing comes from the sockets that there are any more. */
  fallSilent(): void {
    for (const socket of this.sockets) socket.isSilent = true;
  }

  /**
   * What is sent on the sockets that there are arrives later in the same turn from now on, as over
   * a network.
   */
  delay(): void {
    for (const socket of this.sockets) {
      const { send } = socket;
      Object.assign(socket, { send: (frame: string) => queueMicrotask(() => send(frame)) });
    }
  }

  /** What comes from now on arrives. */
  speakAgain(): void {
    for (const socket of this.sockets) socket.isSilent = false;
  }

  publish(event = EVENT): void {
    this.#log.push(event);
    for (const { edges, text } of this.#bus.publish([event], 0).deliveries) {
      for (const edge of edges) this.#say(edge, text);
    }
  }

  #enter(): SmallSocket {
    const socket = this.#open();
    if (this.door === 'open') return socket;
    if (this.door === 'silent') socket.isSilent = true;
    else {
      socket.isClosed = true;
      throw Object.assign(new Error(this.door), { overloaded: this.door === 'overloaded' });
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
      if (received.kind === 'followed') for (const frame of received.frames) this.#say(edge, frame);
      if (received.kind === 'detached') socket.isClosed = true;
    });
    this.sockets.push(socket);
    return socket;
  }

  #say(edge: number, frame: string | undefined): void {
    if (frame === undefined) return;
    if (this.muted > 0 && frame.includes('"type":"batch"')) this.muted -= 1;
    else this.sockets.findLast((socket) => socket.edge === edge)?.hear(frame);
  }
}

/** See {@link SmallBus.door}. */
export type Door = 'open' | 'shut' | 'overloaded' | 'silent';

export class SmallSocket {
  readonly edge: number;
  readonly send: (frame: string) => void;
  isSilent = false;
  /** How many frames were sent on it. */
  sent = 0;
  /** Whether another request than its own has it in its hands. */
  isForeign = false;
  isClosed = false;
  /** Up to where its first follow said that everything was heard. */
  since: number | undefined;
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
    else if (type === 'close')
      this.#close = hear as unknown as (event: { code: number; reason: string }) => void;
  }

  #close: (event: { code: number; reason: string }) => void = () => {};

  /** It is lost. */
  break(code = 1_006): void {
    this.isClosed = true;
    this.#close({ code, reason: '' });
  }

  hear(data: string): void {
    if (!this.isSilent) this.#hear({ data });
  }
}
