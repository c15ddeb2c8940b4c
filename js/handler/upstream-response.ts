import { ListenError, type ListenErrorCode } from '../model/error.js';
import { deferred } from '../timing/deferred.js';
import { Refusal, refusalOf } from '../wasm/server/bindings.js';
import { jsonResponse } from '../web/json-response.js';
import { ReceivedBytes } from '../web/received-bytes.js';
import { readStart } from '../web/request-body.js';

/** Limits on reading a response of the handler that is not just passed on. */
export interface ResponseLimits {
  /** Bytes of the body. */
  responseBytes: number;
  /** Milliseconds for the body, after the header; 0: no limit. */
  responseMs: number;
}

/**
 * Reads the body of a response to its end, and cancels a body that is too large.
 *
 * @throws ListenError `upstream-too-large` or `upstream-timeout`.
 */
export async function wholeBody(
  response: Response,
  limits: ResponseLimits,
): Promise<Uint8Array<ArrayBuffer>> {
  const { bytes, rest } = await withDeadline(response, limits, (body) =>
    readStart({ body }, limits.responseBytes),
  );
  if (rest === undefined) return bytes;
  cancelRest(rest);
  throw tooLarge();
}

/**
 * Reads the body of a response until `find` returns something for the bytes so far, or to its end.
 * The rest is cancelled. `find` is called after each chunk, and less often for a long body in very
 * small ones.
 *
 * @throws ListenError `upstream-too-large` or `upstream-timeout`.
 */
export function bodyUntil<T>(
  response: Response,
  limits: ResponseLimits,
  find: (bytes: Uint8Array) => T | undefined,
): Promise<{ bytes: Uint8Array; found: T | undefined }> {
  return withDeadline(response, limits, async (body) => {
    const reader = body?.getReader();
    const received = new ReceivedBytes();
    /** Bytes that `find` may still read, and the number from which on it is called anyway. */
    let [left, due] = [limits.responseBytes * READS, 0];
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
      received.add(part.value);
      const { bytes } = received;
      const isTooLarge = bytes.byteLength > limits.responseBytes;
      if (left < bytes.byteLength && bytes.byteLength < due && !isTooLarge) continue;
      left -= bytes.byteLength;
      due = 2 * bytes.byteLength;
      const found = find(bytes);
      if (found === undefined && !isTooLarge) continue;
      cancelRest(reader);
      if (found === undefined) throw tooLarge();
      return { bytes, found };
    }
    const { bytes } = received;
    return { bytes, found: find(bytes) };
  });
}

/** Returns the response to a request to which the upstream server did not respond. */
export function failedResponse(error: unknown): Response {
  const isLate =
    error instanceof ListenError && error.code === ('upstream-timeout' satisfies ListenErrorCode);
  return refusalResponse(isLate ? Refusal.GatewayTimeout : Refusal.BadGateway);
}

/** Returns the response of a gateway that refuses a request itself. */
export function refusalResponse(refusal: Refusal): Response {
  const { body = '', retryAfter, status } = refusalOf(refusal);
  const response = jsonResponse(body, status);
  if (retryAfter !== undefined) response.headers.set('retry-after', String(retryAfter));
  return response;
}

type Body = ReadableStream<Uint8Array<ArrayBuffer>> | null;
type Reader = ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;

/** Runs `read` on a body that fails after `responseMs`. */
async function withDeadline<T>(
  { body }: Response,
  { responseMs }: ResponseLimits,
  read: (body: Body) => Promise<T>,
): Promise<T> {
  if (responseMs === 0) return read(body);
  const reader = body?.getReader();
  if (reader === undefined) return read(null);
  const timeout = deferred<never>();
  const timer = setTimeout(() => {
    timeout.reject(
      new ListenError(
        'upstream-timeout',
        'the upstream server did not complete its response in time',
      ),
    );
    cancelRest(reader);
  }, responseMs);
  try {
    return await read(untilTimeout(timeout.promise, reader));
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Returns a stream of the body that `reader` reads, until `timeout` rejects. `pipeThrough` with a
 * signal does not work: workerd (2026-11-17) does not notice an abort while it waits for a chunk.
 */
function untilTimeout(
  timeout: Promise<never>,
  reader: Reader,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await Promise.race([reader.read(), timeout]);
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** Cancels the rest of a body, and ignores errors. */
function cancelRest(reader: Reader | undefined): void {
  reader?.cancel().catch(() => {});
}

/** How often a body of the maximum length may be read from its begin. */
const READS = 16;

function tooLarge(): ListenError {
  return new ListenError(
    'upstream-too-large',
    'the response of the upstream server is larger than the limit',
  );
}
