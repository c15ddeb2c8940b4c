import type { Message } from '../mcp/message.js';

/** The latest messages, oldest first; the oldest are dropped. */
export class MessageHistory {
  #messages: Message[] = [];
  #seen = 0;
  /** The length of all messages together. */
  #length = 0;

  /** Number of messages since the last `clear`. */
  get seen(): number {
    return this.#seen;
  }

  /** Adds a message; returns the messages that were dropped for it. */
  add(message: Message): Message[] {
    this.#seen += 1;
    this.#messages.push(message);
    this.#length += message.text.length;
    // Drops messages in batches, because each drop moves all remaining messages.
    if (this.#messages.length >= MAX_MESSAGES + SLICE) return this.#drop(SLICE);
    return this.#length > MAX_LENGTH ? this.#drop(1) : [];
  }

  /**
   * Returns the messages that `accepts` accepts, oldest first.
   *
   * @param until - leaves out those that came when so many had been seen.
   */
  filtered(accepts: (message: Message) => boolean, until = this.#seen): Message[] {
    const count = Math.max(0, this.#messages.length - (this.#seen - until));
    return this.#messages.filter((message, place) => place < count && accepts(message));
  }

  /** Drops all messages. */
  clear(): void {
    this.#messages = [];
    this.#seen = 0;
    this.#length = 0;
  }

  /** Drops so many messages or more, until a tenth of the length is free; never the newest. */
  #drop(least: number): Message[] {
    let count = 0;
    for (const { text } of this.#messages.slice(0, -1)) {
      if (count >= least && this.#length <= MAX_LENGTH * 0.9) break;
      this.#length -= text.length;
      count += 1;
    }
    return this.#messages.splice(0, count);
  }
}

/** Number of messages that are kept at least, unless they are longer than MAX_LENGTH together. */
export const MAX_MESSAGES = 50_000;
/** The number of UTF-16 code units that all messages may have together. */
export const MAX_LENGTH = 64_000_000;
/** The number of messages that are dropped at once. */
const SLICE = 1_000;
