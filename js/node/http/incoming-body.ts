import { ListenError } from '../../model/error.js';
import type { NodeRequest } from './node-handler.js';

/** What a `Request` takes for its body. */
export type BodyContent = string | Uint8Array | ReadableStream<Uint8Array>;

/** The body of a request: as it comes, or as somebody else has read it. */
export class IncomingBody {
  /** Whether somebody else has read it. */
  readonly isParsed: boolean;
  readonly #incoming: NodeRequest;
  readonly #parsed: unknown;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  /** @param parsed - what somebody else has made of it, where that is not at the request. */
  constructor(incoming: NodeRequest, parsed: unknown) {
    this.#incoming = incoming;
    this.isParsed = incoming.readableDidRead;
    // Express has its `next` there.
    this.#parsed = (typeof parsed === 'function' ? undefined : parsed) ?? incoming.body;
  }

  /**
   * What is to be read.
   *
   * @throws ListenError `body-consumed`.
   */
  content(): BodyContent {
    if (!this.isParsed) return this.#stream();
    const parsed = this.#parsed;
    if (parsed === undefined) {
      throw new ListenError(
        'body-consumed',
        'something before toNodeHandler read the body and left none in req.body',
      );
    }
    if (typeof parsed === 'string' || parsed instanceof Uint8Array) return parsed;
    return JSON.stringify(parsed);
  }

  /** What was not read is for nobody: the connection can go on with its next request. */
  discard(): void {
    this.#controller = undefined;
    this.#incoming.resume();
  }

  /** Chunk by chunk as it is read; one that is cancelled leaves the connection alone, which has yet to bring the answer. */
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
