import type { IncomingMessage } from 'node:http';
import { ListenError } from '../../model/error.js';

/** A request of `node:http`, with the properties that Express and its middleware add. */
export interface NodeRequest extends IncomingMessage {
  /** The full URL, if a router has shortened `url`. */
  originalUrl?: string;
  /** The body as a parser has parsed it. */
  body?: unknown;
  /** The verified token, as middleware describes it. */
  auth?: unknown;
}

/** The body types that a `Request` is created with. */
export type BodyContent = string | Uint8Array | ReadableStream<Uint8Array>;

/** The body of a request: the unread stream, or the result of a body parser. */
export class IncomingBody {
  /** Whether other code has read the body already. */
  readonly isParsed: boolean;
  readonly #incoming: NodeRequest;
  readonly #parsed: unknown;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  /** @param parsed - the parsed body, if it is not in `body` of the request. */
  constructor(incoming: NodeRequest, parsed: unknown) {
    this.#incoming = incoming;
    this.isParsed = incoming.readableDidRead;
    // Express passes `next` as this argument.
    this.#parsed = (typeof parsed === 'function' ? undefined : parsed) ?? incoming.body;
  }

  /**
   * Returns the body for a `Request`.
   *
   * @throws ListenError `body-consumed`.
   */
  content(): BodyContent {
    if (!this.isParsed) return this.#stream();
    const parsed = this.#parsed;
    if (parsed === undefined) {
      throw new ListenError(
        'body-consumed',
        'the body was read before toNodeHandler, and req.body is not set',
      );
    }
    if (typeof parsed === 'string' || parsed instanceof Uint8Array) return parsed;
    return JSON.stringify(parsed);
  }

  /** Drops the unread rest of the body, so that the connection can proceed to its next request. */
  discard(): void {
    this.#controller = undefined;
    this.#incoming.resume();
  }

  /**
   * Streams the body chunk by chunk as it is read. Cancelling it keeps the connection open, which
   * still has to carry the response.
   */
  #stream(): ReadableStream<Uint8Array> {
    const incoming = this.#incoming;
    const start = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      this.#controller = controller;
      incoming.on('data', (chunk: Uint8Array) => {
        if (this.#controller === undefined) return;
        incoming.pause();
        this.#controller.enqueue(chunk);
      });
      incoming.once('end', () => this.#controller?.close());
      incoming.once('error', (error) => this.#controller?.error(error));
      incoming.pause();
    };
    const pull = () => void incoming.resume();
    return new ReadableStream({ start, pull, cancel: () => this.discard() }, { highWaterMark: 0 });
  }
}
