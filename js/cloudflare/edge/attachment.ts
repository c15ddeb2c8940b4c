import type { AttachmentListener, BusConnection } from '../../bus/attachable-bus.js';
import type { BusCall } from '../../wasm/server/bindings.js';

/** The state machine of the core that decides when to attach. */
export interface BusFollower {
  /** Returns the next step for the connection to the bus; `random` is drawn from [0, 1). */
  call(now: number, random: number): BusCall;
}

/** The callbacks of an {@link Attachment}. */
export interface AttachmentEvents {
  /** Opens a connection and sends `frame` first. */
  connect(frame: string, link: AttachmentListener): BusConnection;
  /** Handles one frame, see {@link AttachmentListener.receive}. */
  receive(frame: string): void;
  /** Handles the loss of the connection, see {@link AttachmentListener.lost}. */
  lost(error: Error): void;
}

/**
 * Attaches a listener to the bus over one connection at a time. Ignores the callbacks of earlier
 * connections.
 */
export class Attachment {
  readonly #ends: AttachmentEvents;
  #link: AttachmentListener | undefined;
  #connection: BusConnection | undefined;

  constructor(ends: AttachmentEvents) {
    this.#ends = ends;
  }

  /**
   * Performs the steps that the core requests. Returns when to call again, on the clock of
   * `performance.now()`; undefined if no call is due.
   */
  tend(follower: BusFollower): number | undefined {
    for (;;) {
      const call = follower.call(performance.now(), Math.random());
      if (call.kind === 'wait') return call.deadline;
      if (call.kind === 'leave') this.leave();
      else if (call.kind === 'attach') this.#connect(call.text);
      else this.#connection?.send(call.text);
    }
  }

  /** Closes the current connection, if there is one. */
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
    // The connection may be lost, or this attachment left, before `connect` returns.
    if (this.#link === link) this.#connection = connection;
    else connection.leave();
  }

  #lose(error: Error): void {
    this.leave();
    this.#ends.lost(error);
  }
}
