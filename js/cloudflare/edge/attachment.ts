import type { AttachmentListener, BusConnection } from '../../bus/attachable-bus.js';
import type { BusCall } from '../../wasm/server/bindings.js';

/** What of the core says when to attach. */
export interface BusFollower {
  /** What is to be done about the bus; `random` is drawn from [0, 1). */
  call(now: number, random: number): BusCall;
}

/** What a line does for its follower. */
export interface AttachmentEvents {
  /** Opens a connection, and sends `frame` first. */
  connect(frame: string, link: AttachmentListener): BusConnection;
  /** Takes one frame, as {@link AttachmentListener.receive}. */
  receive(frame: string): void;
  /** There is no connection any more, see {@link AttachmentListener.lost}. */
  lost(error: Error): void;
}

/** A listener's line to the bus, over one connection after another. What a former one still says is not heard. */
export class Attachment {
  readonly #ends: AttachmentEvents;
  #link: AttachmentListener | undefined;
  #connection: BusConnection | undefined;

  constructor(ends: AttachmentEvents) {
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
    const link: AttachmentListener = {
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
