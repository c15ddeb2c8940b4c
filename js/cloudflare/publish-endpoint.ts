import { bears } from '../bearer.js';
import { type BodyStart, readStart } from '../body.js';
import { guarded, report } from '../report.js';
import { Published } from '../wasm.js';
import { type BusName, busNameOf, DEFAULT_BUS } from './bus-name.js';
import type { BusNamespace } from './durable-object-bus.js';
import type { Once } from './once-table.js';
import { SIGNATURE_HEADER, signatureProblem } from './publish-proof.js';
import { PublishRefusal } from './publish-refusal.js';
import { retrying, unavailable } from './stub-error.js';

/** Who may publish, and to which bus. */
export interface PublishOptions {
  /**
   * Whoever knows it may publish: as a bearer token, or by signing with it. As a function it is asked for each
   * bus. Without one (undefined, an empty text) nobody may.
   */
  secret: string | undefined | ((busName: string) => string | undefined | Promise<string | undefined>);
  /** Which bus: its name, or what chooses it for each request (default `mcp-listen`). */
  busName?: BusName | string;
  /** Told of every error behind a 503 (default: `console.error`). */
  onerror?: (error: Error) => void;
}

/**
 * Answers `POST /publish`, or wherever it is put: one event or an array of them, published together or not at all, by
 * whoever knows the secret. `{ "position": n }` says where in the bus's log the last one stands, `positions` where each
 * of an array does; an error is `{ "error": code, "message": text }`.
 */
export function publishEndpoint(
  namespace: BusNamespace,
  options: PublishOptions,
): (request: Request) => Promise<Response> {
  const onerror = guarded(options.onerror ?? report);
  return async (request) => {
    try {
      return await published(namespace, options, request);
    } catch (error) {
      await request.body?.cancel().catch(() => {});
      if (error instanceof PublishRefusal) return error.response();
      onerror(error as Error);
      return new PublishRefusal('bus-unavailable').response();
    }
  };
}

/** @throws PublishRefusal, and ListenError `bus-unavailable` or `bus-overloaded`. */
async function published(namespace: BusNamespace, options: PublishOptions, request: Request): Promise<Response> {
  const { busName = DEFAULT_BUS, secret } = options;
  if (request.method !== 'POST') throw new PublishRefusal('method-not-allowed');
  const name = await busNameOf(busName, request);
  if (name === undefined) throw new PublishRefusal('unknown-bus');
  checkHeaders(request.headers);
  const wanted = typeof secret === 'function' ? await secret(name) : secret;
  if (!wanted) throw new PublishRefusal('publishing-is-off');
  const body = await provenBody(request, wanted);
  const { events, isArray } = eventsIn(body);
  const once = await onceOf(request.headers, body);
  const stub = (): PublishStub => namespace.getByName(name) as unknown as PublishStub;
  const position = await taken(stub, events, once);
  if (position === undefined) throw new PublishRefusal('idempotency-key-reused');
  if (!isArray) return Response.json({ position });
  const first = position - events.length + 1;
  return Response.json({ position, positions: events.map((_event, place) => first + place) });
}

interface PublishStub {
  publishAll(events: string[]): Promise<number>;
  publishOnce(events: string[], once: Once): Promise<number | undefined>;
}

function checkHeaders(headers: Headers): void {
  const [type = '', ...parameters] = (headers.get('content-type') ?? '').toLowerCase().split(';');
  const isPlain = parameters.every((parameter) => !/charset=(?!"?utf-8"?\s*$)/.test(parameter));
  const isEncoded = ![null, 'identity'].includes(headers.get('content-encoding'));
  if (type.trim() !== 'application/json' || !isPlain || isEncoded) throw new PublishRefusal('unsupported-media-type');
  if (Number(headers.get('content-length') ?? 0) > MOST_BYTES) throw new PublishRefusal('body-too-large');
}

/** The body, once whoever sent it has shown to know the secret. */
async function provenBody(request: Request, secret: string): Promise<Uint8Array<ArrayBuffer>> {
  const isSigned = request.headers.has(SIGNATURE_HEADER);
  if (!isSigned && !(await bears(request, secret))) throw new PublishRefusal('unauthorized');
  const { bytes, rest }: BodyStart = await readStart(request, MOST_BYTES);
  await rest?.cancel();
  if (rest !== undefined || bytes.byteLength > MOST_BYTES) throw new PublishRefusal('body-too-large');
  const problem = isSigned ? await signatureProblem(request, bytes, secret) : undefined;
  if (problem !== undefined) throw new PublishRefusal(problem);
  return bytes;
}

function eventsIn(body: Uint8Array): { events: string[]; isArray: boolean } {
  const read = new Published(body);
  const { code, events, isArray, place, problem } = read;
  read.free();
  if (code !== undefined) throw new PublishRefusal('no-events', { code, message: problem ?? '', place });
  return { events, isArray };
}

/**
 * By what this publish is known where it is made again: its key, and what signed it. So a signed request that somebody
 * else repeats publishes nothing.
 */
async function onceOf(headers: Headers, body: Uint8Array<ArrayBuffer>): Promise<Once | undefined> {
  const key = headers.get('idempotency-key');
  if (key !== null && !/^[\x21-\x7e]{1,256}$/.test(key)) throw new PublishRefusal('invalid-idempotency-key');
  const signature = headers.get(SIGNATURE_HEADER)?.toLowerCase();
  const keys = [
    ...(key === null ? [] : [`key ${key}`]),
    ...(signature === undefined ? [] : [`signature ${signature}`]),
  ];
  if (keys.length === 0) return undefined;
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', body));
  return { keys, digest: btoa(String.fromCharCode(...digest)) };
}

/** @throws ListenError `bus-unavailable` or `bus-overloaded`. */
async function taken(stub: () => PublishStub, events: string[], once: Once | undefined): Promise<number | undefined> {
  // An event that got through twice is harmless, but for the state of a task: a second one might come after the next.
  const mayRepeat = once !== undefined || !events.some((event) => event.includes('{"kind":"task_status"'));
  const attempts = mayRepeat ? ATTEMPTS : 1;
  try {
    return await retrying(attempts, () =>
      once === undefined ? stub().publishAll(events) : stub().publishOnce(events, once),
    );
  } catch (cause) {
    throw unavailable('the bus did not take what was posted', cause);
  }
}

const MOST_BYTES = 65_536;
const ATTEMPTS = 3;
