import { ListenError } from '../model/error.js';
import { timer } from '../model/timeouts.js';
import { withTimeout } from '../timing/with-timeout.js';

/** The beginning of a request's body, and what was not read of it. */
export interface BodyStart {
  /** What was read: the whole body, or more than the limit of it. */
  bytes: Uint8Array<ArrayBuffer>;
  /** The rest, where the body is longer than the limit. */
  rest?: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
}

/**
 * Reads a body until it ends or exceeds `limit` bytes; nothing beyond the chunk that did so is read. A body for which that
 * takes longer than `ms` milliseconds is cancelled (default 0: no deadline).
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
    // Nobody waits for what the other end of a body does about it.
    void reader.cancel().catch(() => {});
    throw error;
  }
}

/** Whether reading a body was given up at its deadline. */
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

/** The request as it came, but with an empty body for somebody who is not to read it. */
export function bodiless(request: Request): Request {
  return request.body === null ? request : new Request(request, { body: '' });
}

/** The request as it came, with its body to be read again. */
export function replay(request: Request, { bytes, rest }: BodyStart): Request {
  if (rest === undefined) return new Request(request, { body: bytes });
  // Node takes a stream as a body only with `duplex`, which the type does not know.
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
