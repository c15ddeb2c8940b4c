import { ListenError } from '../model/error.js';
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
  { body }: Pick<Request, 'body'>,
  limit: number,
  ms = 0,
): Promise<BodyStart> {
  const reader = body?.getReader();
  if (reader === undefined) return { bytes: new Uint8Array() };
  const deadline = timer(ms);
  if (deadline === 0) return readUpTo(limit, reader);
  try {
    return await withTimeout(deadline, readUpTo(limit, reader), bodyTimeout);
  } catch (error) {
    // The result of cancelling does not matter.
    void reader.cancel().catch(() => {});
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

async function readUpTo(
  limit: number,
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
): Promise<BodyStart> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (length <= limit) {
    const { done, value } = await reader.read();
    if (done) return { bytes: concat(chunks, length) };
    chunks.push(value);
    length += value.byteLength;
  }
  return { bytes: concat(chunks, length), rest: reader };
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
