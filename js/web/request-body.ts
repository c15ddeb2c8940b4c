import { ListenError } from '../model/error.js';
import { host } from '../model/host-profile.js';
import { timer } from '../model/timeouts.js';
import { withTimeout } from '../timing/with-timeout.js';

/** The start of a request's body, and a reader for the rest. */
export interface BodyStart {
  /** The bytes that were read: the whole body, or more bytes than the limit. */
  bytes: Uint8Array<ArrayBuffer>;
  /** Reads the rest, if the body is longer than the limit. */
  rest?: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
}

/**
 * Reads a body until it ends or exceeds `limit` bytes, and reads nothing after the chunk that
 * exceeds it. A body that takes longer than `ms` milliseconds is cancelled. Default 0: no deadline.
 *
 * @throws ListenError `body-timeout`.
 */
export async function readStart(
  { body, headers }: Pick<Request, 'body'> & Partial<Pick<Request, 'headers'>>,
  limit: number,
  ms = 0,
): Promise<BodyStart> {
  if (body === null) return { bytes: new Uint8Array() };
  const reader = new BodyReader(body, limit, Number(headers?.get('content-length') ?? 0));
  const deadline = timer(ms);
  if (deadline === 0) return reader.start();
  try {
    return await withTimeout(deadline, reader.start(), bodyTimeout);
  } catch (error) {
    reader.cancel();
    throw error;
  }
}

/** Returns whether reading a body was cancelled at its deadline. */
export function isBodyTimeout(error: unknown): boolean {
  return error instanceof ListenError && error.code === 'body-timeout';
}

function bodyTimeout(): ListenError {
  return new ListenError('body-timeout', 'the body did not arrive in time');
}

/** Reads the start of a body. */
class BodyReader {
  readonly #body: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #limit: number;
  /** The length that its header states; 0: none. */
  readonly #stated: number;
  #reader: ReadableStreamDefaultReader | ReadableStreamBYOBReader | undefined;

  constructor(body: ReadableStream<Uint8Array<ArrayBuffer>>, limit: number, stated: number) {
    this.#body = body;
    this.#limit = limit;
    this.#stated = stated;
  }

  async start(): Promise<BodyStart> {
    const first = await this.#small();
    if (first !== undefined && first.byteLength === this.#stated) return { bytes: first };
    const reader = this.#body.getReader();
    this.#reader = reader;
    const chunks: Uint8Array<ArrayBuffer>[] = first === undefined ? [] : [first];
    let length = first?.byteLength ?? 0;
    while (length <= this.#limit) {
      const { done, value } = await reader.read();
      if (done) return { bytes: concat(chunks, length) };
      chunks.push(value);
      length += value.byteLength;
    }
    return { bytes: concat(chunks, length), rest: reader };
  }

  /** Cancels the body. The result does not matter. */
  cancel(): void {
    void this.#reader?.cancel().catch(() => {});
  }

  /**
   * Reads a small body on workerd, which ends a read only at the end of the body or of the buffer.
   * A chunk of another reader is a buffer of thousands of bytes. The length that the header states
   * may be wrong, so the buffer has room for one byte more. Returns undefined on other hosts and
   * for other bodies.
   */
  async #small(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const stated = this.#stated;
    if (host.fansOut || !(stated > 0 && stated <= Math.min(this.#limit, SMALL_BYTES)))
      return undefined;
    const reader = byteReaderOf(this.#body);
    if (reader === undefined) return undefined;
    this.#reader = reader;
    const { value } = await reader.read(new Uint8Array(stated + 1), { min: stated + 1 });
    if (value?.byteLength !== stated) reader.releaseLock();
    return value;
  }
}

/** Returns a reader that fills a given buffer; undefined for a body that is no stream of bytes. */
function byteReaderOf(body: ReadableStream): ReadableStreamBYOBReader | undefined {
  try {
    return body.getReader({ mode: 'byob' });
  } catch {
    return undefined;
  }
}

/** Cancels a body that is not read here. A locked body belongs to its reader, which cancels it. */
export async function cancelBody({ body }: Pick<Request, 'body'>): Promise<void> {
  if (body === null) return;
  // Node (20 and 24) throws an uncaught error if a body of `Readable.toWeb` is cancelled between
  // the request for a chunk and the chunk, and the next request on its connection gets 400.
  const { setImmediate } = globalThis as { setImmediate?: (callback: () => void) => void };
  if (setImmediate !== undefined) await new Promise<void>((resolve) => setImmediate(resolve));
  if (!body.locked) await body.cancel();
}

/** Returns the request with an empty body, for code that must not read the original one. */
export function bodiless(request: Request): Request {
  return request.body === null ? request : new Request(request, { body: '' });
}

/** Returns the request with its body readable again. */
export function replay(request: Request, { bytes, rest }: BodyStart): Request {
  if (rest === undefined) return new Request(request, { body: bytes });
  // Node requires `duplex` for a stream as body, but the type lacks it.
  return new Request(request, { body: resume(bytes, rest), duplex: 'half' } as RequestInit);
}

function resume(
  bytes: Uint8Array<ArrayBuffer>,
  rest: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    start: (controller) => controller.enqueue(bytes),
    async pull(controller) {
      const { done, value } = await rest.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => rest.cancel(reason),
  });
}

function concat(chunks: Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

/** Bytes of a body that is read at once: the buffer exists before the client has sent anything. */
const SMALL_BYTES = 4_096;
