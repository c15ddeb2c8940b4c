import { createParser } from 'eventsource-parser';
import { parsedJson } from '../../../model/json.js';

/** A JSON-RPC message that a server sent. */
export interface Message {
  id?: string | number | null;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { code?: number; message?: string; data?: unknown };
}

/** A message of a stream. */
export interface Received {
  message: Message;
  /** Milliseconds since the stream was opened. */
  atMs: number;
}

/** Reads the body of a response, which is an event stream or one JSON text, as messages. */
export class MessageStream {
  /** The messages so far. */
  readonly messages: Received[] = [];
  /** The id of the last event that has one, also of one without a message. */
  lastEventId: string | undefined;
  /** Number of comments so far, which servers send as keep-alives. */
  comments = 0;
  /** Milliseconds from the opening to the last bytes. */
  lastByteMs = 0;
  /** How the stream ended by itself; undefined while it is open, or after `close`. */
  end: 'ended' | 'reset' | undefined;
  readonly isEventStream: boolean;
  readonly #abort: AbortController;
  readonly #openedAt = performance.now();
  #isClosed = false;
  #wake: () => void = () => {};

  constructor(response: Response, abort: AbortController) {
    this.isEventStream = /^text\/event-stream\b/.test(response.headers.get('content-type') ?? '');
    this.#abort = abort;
    void this.#read(response);
  }

  /** Milliseconds since the stream was opened. */
  get ageMs(): number {
    return performance.now() - this.#openedAt;
  }

  /**
   * Waits for a message that matches, from the message with the index `from` on, for at most `ms`
   * milliseconds. Resolves with undefined if none comes, or the stream ends before.
   */
  async first(
    matches: (message: Message) => boolean,
    ms: number,
    from = 0,
  ): Promise<Received | undefined> {
    const find = () => this.messages.slice(from).find(({ message }) => matches(message));
    await this.until(() => find() !== undefined, ms);
    return find();
  }

  /**
   * Waits until the condition holds or the stream ends, for at most `ms` milliseconds. Time in
   * which this process stood still does not count, and what arrived meanwhile is read.
   */
  async until(holds: () => boolean, ms: number): Promise<void> {
    let left = ms;
    while (left > 0 && !holds() && this.end === undefined) {
      const pause = Math.min(POLL_MS, left);
      const began = performance.now();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        // Timers run before the sockets are read, and immediates after that.
        setTimeout(() => setImmediate(resolve), pause);
      });
      left -= Math.min(performance.now() - began, pause);
    }
  }

  /** Closes the stream, as a client does to cancel. */
  close(): void {
    this.#isClosed = true;
    this.#abort.abort();
  }

  async #read(response: Response): Promise<void> {
    try {
      await (this.isEventStream ? this.#readEvents(response) : this.#readJson(response));
      this.#finish('ended');
    } catch {
      // The connection was lost, or `close` aborted it.
      this.#finish('reset');
    }
  }

  async #readEvents({ body }: Response): Promise<void> {
    const parser = createParser({
      onEvent: ({ data, id }) => {
        this.lastEventId = id ?? this.lastEventId;
        this.#receive(data);
      },
      onComment: () => {
        this.comments += 1;
      },
    });
    const decoder = new TextDecoder();
    for await (const chunk of body ?? []) {
      this.lastByteMs = this.ageMs;
      parser.feed(decoder.decode(chunk, { stream: true }));
      this.#wake();
    }
  }

  async #readJson(response: Response): Promise<void> {
    this.#receive(await response.text());
  }

  #receive(text: string): void {
    const value = parsedJson(text);
    const messages = Array.isArray(value) ? value : [value];
    for (const message of messages)
      if (typeof message === 'object' && message !== null)
        this.messages.push({ message: message as Message, atMs: this.ageMs });
  }

  #finish(how: 'ended' | 'reset'): void {
    if (!this.#isClosed) this.end = how;
    this.#wake();
  }
}

/** Milliseconds between two looks at a condition that no bytes have changed. */
const POLL_MS = 100;
