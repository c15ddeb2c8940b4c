/** A transport that carries single messages, such as the pipes of a server on stdio. */
export interface ListenChannel {
  /**
   * Joins the channel: messages of the server are passed to `receiver`. Returns undefined if the
   * channel is not connected now.
   */
  join(receiver: ChannelReceiver): ChannelMember | undefined;
}

/** Handles the input of a channel. */
export interface ChannelReceiver {
  /**
   * Handles complete lines from the server. Returns whether all of them were meant for this
   * receiver only.
   */
  receive(lines: Uint8Array): boolean;
  /** Handles the loss of the server. */
  gone(cause?: unknown): void;
  /** Handles the refusal of a message with an HTTP status. */
  refused(status: number): void;
}

/** The membership of one subscription in a channel. */
export interface ChannelMember {
  /** The revision that the server is known to speak. */
  readonly revision: 'unknown' | '2026-07-28' | 'session';
  /** The capabilities that the server announced in the session, as JSON text. */
  readonly capabilities?: string;
  /** Sends a message. */
  send(text: string): void;
  /** Leaves the channel. */
  leave(): void;
}
