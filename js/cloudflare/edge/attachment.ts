import type { BusConnection, BusLink } from '../../bus/bus.js';
import type { BusCall } from '../../wasm/server/bindings.js';

/** What of the core says when to attach. */
export interface BusFollower {
  /** What is to be done about the bus; `random` is drawn from [0, 1). */
  call(now: number, random: number): BusCall;
}

/** What a line does for its follower. */
export interface LineEnds {
  /** Opens a connection, and sends `frame` first. */
  connect(frame: string, link: BusLink): BusConnection;
  /** Takes one frame, as {@link BusLink.receive}. */
  receive(frame: string): void;
  /** There is no connection any more, see {@link BusLink.lost}. */
  lost(error: Error): void;
}

/** A listener's line to the bus, over one connection after another. What a former one still says is not heard. */
export class BusLine {
  readonly #ends: LineEnds;
  #link: BusLink | undefined;
  #connection: BusConnection | undefined;

  constructor(ends: LineEnds) {
    this.#ends = ends;
  }

  /** Does what the core asks for. Returns when to do it again, on the clock of `performance.now()`; undefined: not now. */
  tend(follower: BusFollower): number | undefined {
    for (;;) {
      const call = follower.call(performance.now(), Math.random());
      if (call.kind === 'wait') return call.deadline;
      if (call.kind === 'leave') this.leave();
      else if (call.kind === 'attach') this.#connect(call.text);
      else this.#connection?.send(call.text);
    }
  }

  /** Gives up the connection that there is. */
  leave(): void {
    const connection = this.#connection;
    this.#link = undefined;
    this.#connection = undefined;
    connection?.leave();
  }

  #connect(frame: string): void {
    this.leave();
    const link: BusLink = {
      receive: (frame) => {
        if (this.#link === link) this.#ends.receive(frame);
      },
      lost: (error) => {
        if (this.#link === link) this.#lose(error);
      },
    };
    this.#link = link;
    const connection = this.#ends.connect(frame, link);
    // The bus may have been lost, or the line left, before it answered.
    if (this.#link === link) this.#connection = connection;
    else connection.leave();
  }

  #lose(error: Error): void {
    this.leave();
    this.#ends.lost(error);
  }
}
