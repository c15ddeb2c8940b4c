import type { Message } from '../mcp/message.js';

/** The latest messages, oldest first; the oldest are dropped. */
export class MessageHistory {
  #messages: Message[] = [];
  #seen = 0;

  /** Number of messages since the last `clear`. */
  get seen(): number {
    return this.#seen;
  }

  /** Adds a message; returns the messages that were dropped for it. */
  add(message: Message): Message[] {
    this.#seen += 1;
    this.#messages.push(message);
    // Drops messages in batches, because each drop moves all remaining messages.
    if (this.#messages.length < MAX_MESSAGES + SLICE) return [];
    return this.#messages.splice(0, SLICE);
  }

  /** Returns the messages that `accepts` accepts, oldest first. */
  filtered(accepts: (message: Message) => boolean): Message[] {
    return this.#messages.filter(accepts);
  }

  /** Drops all messages. */
  clear(): void {
    this.#messages = [];
    this.#seen = 0;
  }
}

/** Number of messages that are kept at least. */
export const MAX_MESSAGES = 50_000;
/** The number of messages that are dropped at once. */
const SLICE = 1_000;
