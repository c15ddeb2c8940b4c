import type { AttachmentListener, BusConnection } from '../../bus/attachable-bus.js';
import type { BusFollower } from '../../wasm/server/bindings.js';

/** The callbacks of an {@link Attachment}. */
export interface AttachmentEvents {
  /** Opens a connection and sends `frame` first. */
  connect(frame: string, listener: AttachmentListener): BusConnection;
  /** Handles one frame, see {@link AttachmentListener.onFrame}. */
  onFrame(frame: string): void;
  /** Handles the loss of the connection, see {@link AttachmentListener.onLost}. */
  onLost(error: Error): void;
}

/**
 * Attaches a listener to the bus over one connection at a time. Ignores the callbacks of earlier
 * connections.
 */
export class Attachment {
  readonly #events: AttachmentEvents;
  #listener: AttachmentListener | undefined;
  #connection: BusConnection | undefined;

  constructor(events: AttachmentEvents) {
    this.#events = events;
  }

  /**
   * Performs the steps that `follower` requests. Returns when to call again, on the clock of
   * `performance.now()`; undefined if no call is due.
   */
  service(follower: BusFollower): number | undefined {
    for (;;) {
      const call = follower.call(performance.now(), Math.random());
      if (call.kind === 'wait') return call.deadline;
      if (call.kind === 'leave') this.close();
      else if (call.kind === 'attach') this.#connect(call.text);
      else this.#connection?.send(call.text);
    }
  }

  /** Closes the current connection, if there is one. */
  close(): void {
    const connection = this.#connection;
    this.#listener = undefined;
    this.#connection = undefined;
    connection?.close();
  }

  #connect(frame: string): void {
    this.close();
    const listener: AttachmentListener = {
      onFrame: (frame) => {
        if (this.#listener === listener) this.#events.onFrame(frame);
      },
      onLost: (error) => {
        if (this.#listener === listener) this.#handleLost(error);
      },
    };
    this.#listener = listener;
    const connection = this.#events.connect(frame, listener);
    // The connection may be lost, or this attachment left, before `connect` returns.
    if (this.#listener === listener) this.#connection = connection;
    else connection.close();
  }

  #handleLost(error: Error): void {
    this.close();
    this.#events.onLost(error);
  }
}
