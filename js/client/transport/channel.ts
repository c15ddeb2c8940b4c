/** What carries messages one by one, such as the pipe of a server on stdio. */
export interface ListenChannel {
  /** Joins it: what the server sends goes to `receiver`. Undefined: it is not there now. */
  join(receiver: ChannelReceiver): ChannelMember | undefined;
}

/** Takes what comes of a channel. */
export interface ChannelReceiver {
  /** Bytes of lines came. Whether all of them were for this receiver alone. */
  receive(lines: Uint8Array): boolean;
  /** The server is gone. */
  gone(cause?: unknown): void;
  /** A message was refused with an HTTP status. */
  refused(status: number): void;
}

/** One subscription's part of a channel. */
export interface ChannelMember {
  /** What the server is known to speak. */
  readonly era: 'unknown' | '2026-07-28' | 'session';
  /** What it said in the session, as JSON text. */
  readonly capabilities?: string;
  /** Sends a message. */
  send(text: string): void;
  /** Leaves. */
  leave(): void;
}
