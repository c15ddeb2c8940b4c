import { readStart } from './body.js';
import { deferred } from './deferred.js';
import { ListenError, type ListenErrorCode } from './error.js';
import { json } from './refusals.js';
import { Renewed } from './renewed.js';
import { Acceptor, Refusal } from './wasm.js';

/** How much is read of an answer of the handler behind that is not just passed on. */
export interface AnswerLimits {
  /** Bytes of its body. */
  answerBytes: number;
  /** Milliseconds for its body, from the head on. */
  answerMs: number;
}

/**
 * Reads the body of an answer to its end; what is left of it is cancelled.
 *
 * @throws ListenError `upstream-too-large` or `upstream-timeout`.
 */
export async function wholeBody(answer: Response, limits: AnswerLimits): Promise<Uint8Array<ArrayBuffer>> {
  const { bytes, rest } = await inTime(answer, limits, (body) => readStart({ body }, limits.answerBytes));
  if (rest === undefined) return bytes;
  leave(rest);
  throw tooLarge();
}

/**
 * Reads the body of an answer until `find` finds something in what has come, or to its end; what is left is cancelled.
 *
 * @throws ListenError `upstream-too-large` or `upstream-timeout`.
 */
export function bodyUntil<T>(
  answer: Response,
  limits: AnswerLimits,
  find: (bytes: Uint8Array) => T | undefined,
): Promise<{ bytes: Uint8Array; found: T | undefined }> {
  return inTime(answer, limits, async (body) => {
    const reader = body?.getReader();
    let bytes = new Uint8Array();
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
      bytes = joined(bytes, part.value);
      const found = find(bytes);
      if (found === undefined && bytes.byteLength <= limits.answerBytes) continue;
      leave(reader);
      if (found === undefined) throw tooLarge();
      return { bytes, found };
    }
    return { bytes, found: undefined };
  });
}

/** The answer to a client whose request the server behind did not answer. */
export function unanswered(error: unknown): Response {
  const isLate = error instanceof ListenError && error.code === ('upstream-timeout' satisfies ListenErrorCode);
  return refused(isLate ? Refusal.GatewayTimeout : Refusal.BadGateway);
}

/** The answer of a gateway that says by itself that a request is not served. */
export function refused(refusal: Refusal): Response {
  refuser ??= new Renewed(() => new Acceptor());
  const rejection = refuser.value.refuse(refusal);
  const { body, retryAfter, status } = rejection;
  rejection.free();
  const response = json(body, status);
  if (retryAfter !== undefined) response.headers.set('retry-after', String(retryAfter));
  return response;
}

type Body = ReadableStream<Uint8Array<ArrayBuffer>> | null;
type Reader = ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;

/** Lets `read` read the body, which breaks off once its time is over. */
async function inTime<T>({ body }: Response, { answerMs }: AnswerLimits, read: (body: Body) => Promise<T>): Promise<T> {
  const reader = body?.getReader();
  if (reader === undefined) return read(null);
  const late = deferred<never>();
  const timer = setTimeout(() => {
    late.reject(new ListenError('upstream-timeout', 'the server behind did not end its answer in time'));
    leave(reader);
  }, answerMs);
  try {
    return await read(until(late.promise, reader));
  } finally {
    clearTimeout(timer);
  }
}

/** A body as its reader reads it, until `late` rejects. Pipes of workerd do not notice a signal between two chunks. */
function until(late: Promise<never>, reader: Reader): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await Promise.race([reader.read(), late]);
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** What comes after is of no interest, not even that it breaks off. */
function leave(reader: Reader | undefined): void {
  reader?.cancel().catch(() => {});
}

function joined(bytes: Uint8Array, more: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(bytes.byteLength + more.byteLength);
  both.set(bytes);
  both.set(more, bytes.byteLength);
  return both;
}

function tooLarge(): ListenError {
  return new ListenError('upstream-too-large', 'the server behind answered more than is read');
}

let refuser: Renewed<Acceptor> | undefined;
