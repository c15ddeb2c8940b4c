import type { DefinedEvents } from '../../events/serve/host.js';
import { type Screen, type ScreenOptions, screen } from '../../http/screen.js';
import { expectAmounts } from '../../model/amount.js';
import { type ListenTimeouts, timeoutsOf } from '../../model/timeouts.js';
import { report, safeOnError } from '../../observe/on-error.js';
import { posted } from '../../wasm/server/bindings.js';
import { addressOf } from '../../web/client-address.js';
import { sha256 } from '../../web/digest.js';
import { hex } from '../../web/hex.js';
import { isBodyTimeout, readStart } from '../../web/request-body.js';
import { type BusName, busNameOf, DEFAULT_BUS } from '../wire/names.js';
import type { IdempotencyKey, PublishedAt } from '../wire/publish.js';
import { attemptsFor, MAX_ATTEMPTS, retrying, unavailable } from '../wire/retry.js';
import { type BusNamespace, type BusStub, busStub } from '../wire/stubs.js';
import { PublishError } from './errors.js';
import { FailedAttempts } from './failed-attempts.js';
import { checked, firstForbidden, type Publisher } from './publisher.js';
import { SIGNATURE_HEADER, type Signature, signatureOf } from './signature.js';
import { UnverifiedBodies } from './unverified-bodies.js';

/** Options of {@link createPublishHandler}. */
export interface PublishHandlerOptions extends ScreenOptions {
  /**
   * The secret of a publisher that may publish everything; at least 16 bytes. A request carries it
   * as a bearer token, or is signed with it. A function is called with the name of each bus. If
   * undefined or empty, there is no such publisher.
   *
   * @default undefined
   */
  secret?: string | undefined | ((bus: string) => string | undefined | Promise<string | undefined>);
  /**
   * Further publishers, whose rights can be restricted. A function is called with the name of each
   * bus.
   *
   * @default []
   */
  publishers?: readonly Publisher[] | ((bus: string) => PublishersOfBus | Promise<PublishersOfBus>);
  /**
   * The bus to publish to: its name, or a function that returns the name of the bus of each
   * request.
   *
   * @default 'mcp-listen'
   */
  bus?: BusName;
  /**
   * Also accepts signatures of version 1. They cover the timestamp and the body but not the bus, so
   * a captured one is valid for every bus with the same secret.
   *
   * @default false
   */
  acceptV1?: boolean;
  /**
   * Number of requests per minute that may fail to authenticate, for each bus and each address that
   * the host passes on. Further failures get 429. A signed request counts as a failure until its
   * signature is verified, so signed requests beyond the limit are refused unread. A correct bearer
   * token is always accepted, and so is a correct signature if the host passes on no address. Each
   * isolate counts separately. 0 disables the limit.
   *
   * @default 30
   */
  failuresPerMinute?: number;
  /**
   * The event types of MCP Events that may be published too, as
   * `{"kind":"event","name":"order.paid","data":{...},"eventId":"..."}` or in an array with
   * changes. A body may then have 262,144 bytes. The bus needs a log of occurrences.
   *
   * @default undefined
   */
  events?: DefinedEvents;
  /**
   * Milliseconds that a body may take to arrive, as `bodyMs`. 0 disables the timeout.
   *
   * @default `{ bodyMs: 10_000 }`
   */
  timeouts?: Pick<ListenTimeouts, 'bodyMs'>;
  /**
   * Called with every error that leads to a 503, and with the error of each invalid `secret` or
   * publisher that a function returns.
   *
   * @default console.error
   */
  onError?: (error: Error) => void;
}

/** The publishers of one bus; undefined if there is no such bus. */
export type PublishersOfBus = readonly Publisher[] | undefined;

/**
 * Creates a handler for `POST /publish`, or any other path that you route to it. Publishers with a
 * secret send one event or an array of events, which are published together or not at all. The
 * response is `{ "position": n }`, the position of the last event in the log of the bus; for an
 * array `positions` has the position of each. An error is `{ "error": code, "message": text }`.
 * Pages of other origins are refused.
 *
 * @throws ListenError `invalid-options`, for example if a secret is too short.
 *
 * @example
 * ```ts
 * const publish = createPublishHandler(env.MCP_BUS, { secret: env.PUBLISH_TOKEN });
 * const response = await publish(request);
 * ```
 */
export function createPublishHandler(
  namespace: BusNamespace,
  options: PublishHandlerOptions,
): (request: Request) => Promise<Response> {
  const { fetch } = new PublishHandler(namespace, options);
  return fetch;
}

class PublishHandler {
  readonly #namespace: BusNamespace;
  readonly #options: PublishHandlerOptions;
  readonly #onError: (error: Error) => void;
  readonly #screen: Screen;
  readonly #failures: FailedAttempts;
  readonly #bodies: UnverifiedBodies;
  readonly #bodyMs: number;

  constructor(namespace: BusNamespace, options: PublishHandlerOptions) {
    const { failuresPerMinute = 30, publishers = [], secret, timeouts } = options;
    const { bodyMs } = timeoutsOf(timeouts);
    expectAmounts('', { failuresPerMinute });
    if (typeof publishers !== 'function') checked([...fullPublisher(secret), ...publishers]);
    else checked(fullPublisher(secret));
    this.#namespace = namespace;
    this.#options = options;
    this.#onError = safeOnError(options.onError ?? report);
    this.#screen = screen(options);
    this.#failures = new FailedAttempts(failuresPerMinute);
    this.#bodies = new UnverifiedBodies(bodyMs);
    this.#bodyMs = bodyMs;
  }

  /**
   * Handles a request. Also checks OPTIONS, which browsers send before the POST of a page; refuses
   * all other methods.
   */
  readonly fetch = async (request: Request): Promise<Response> => {
    if (!['POST', 'OPTIONS'].includes(request.method))
      return new PublishError('method-not-allowed').response();
    return this.#screen(request, () => this.#respond(request));
  };

  async #respond(request: Request): Promise<Response> {
    try {
      return await this.#publish(request);
    } catch (error) {
      await request.body?.cancel().catch(() => {});
      if (error instanceof PublishError) return error.response();
      this.#onError(error as Error);
      return new PublishError('bus-unavailable').response();
    }
  }

  /** @throws PublishError, and ListenError `bus-unavailable` or `bus-overloaded`. */
  async #publish(request: Request): Promise<Response> {
    checkHead(request, this.#maxBytes);
    const name = await busNameOf(this.#options.bus ?? DEFAULT_BUS, request);
    const { body, proof, publisher } = await this.#authenticate(request, name);
    if (name === undefined) throw new PublishError('unauthorized');
    const { events, isArray } = await this.#eventsIn(body);
    const index = firstForbidden(publisher, events);
    if (index !== undefined) throw new PublishError('not-allowed', { index });
    const once = await onceOf(request.headers, { body, proof, publisher });
    const position = await this.#publishTo(name, events, once);
    if (!isArray) return Response.json({ position });
    const first = position - events.length + 1;
    return Response.json({ position, positions: events.map((_event, index) => first + index) });
  }

  async #eventsIn(body: Uint8Array): Promise<{ events: string[]; isArray: boolean }> {
    const parsed = (await this.#options.events?.posted(body)) ?? posted(body);
    if (parsed.kind === 'events') return parsed;
    const { code, index, problem } = parsed;
    throw new PublishError('no-events', { code, message: problem, index });
  }

  /**
   * Returns the body and its publisher. An unknown bus is handled and refused exactly as a wrong
   * secret is.
   *
   * @throws PublishError
   */
  async #authenticate(request: Request, name: string | undefined): Promise<Authenticated> {
    const publishers = await this.#publishersOf(name);
    if (!request.headers.has(SIGNATURE_HEADER))
      return this.#verifyBearer(request, name, publishers);
    const address = addressOf(request);
    return this.#bodies.within(address ?? '', async () => {
      // Counting failures of clients without an address would lock out all of them.
      const counted =
        address === undefined ? undefined : this.#failures.add(callerOf(request, name));
      const authenticated = await this.#verifySignature(request, name, publishers);
      if (counted !== undefined) this.#failures.remove(counted);
      return authenticated;
    });
  }

  /**
   * Authenticates a request with a bearer token. Counts only failures, so that a correct secret is
   * accepted regardless of other requests.
   */
  async #verifyBearer(
    request: Request,
    name: string | undefined,
    publishers: readonly Publisher[],
  ): Promise<Authenticated> {
    const proof = signatureOf(request, name ?? '', false);
    const publisher = await publisherOf(publishers, proof, new Uint8Array());
    if (publisher === undefined) {
      this.#failures.add(callerOf(request, name));
      throw new PublishError('unauthorized');
    }
    return { body: await this.#read(request), proof, publisher };
  }

  async #verifySignature(
    request: Request,
    name: string | undefined,
    publishers: readonly Publisher[],
  ): Promise<Authenticated> {
    const proof = signatureOf(request, name ?? '', this.#options.acceptV1 ?? false);
    const body = await this.#read(request);
    const publisher = await publisherOf(publishers, proof, body);
    if (publisher === undefined) throw new PublishError('unauthorized');
    return { body, proof, publisher };
  }

  async #read(request: Request): Promise<Uint8Array<ArrayBuffer>> {
    const max = this.#maxBytes;
    const { bytes, rest } = await readStart(request, max, this.#bodyMs).catch((error: unknown) => {
      throw isBodyTimeout(error) ? new PublishError('body-timeout') : error;
    });
    await rest?.cancel();
    if (rest !== undefined || bytes.byteLength > max) throw new PublishError('body-too-large');
    return bytes;
  }

  get #maxBytes(): number {
    return this.#options.events === undefined ? MAX_BYTES : MAX_EVENT_BYTES;
  }

  /**
   * Returns the publishers of a bus. If a function returns an invalid one, reports that and returns
   * none.
   */
  async #publishersOf(name: string | undefined): Promise<readonly Publisher[]> {
    if (name === undefined) return [];
    const { publishers = [], secret } = this.#options;
    const own = typeof secret === 'function' ? await secret(name) : secret;
    const others = typeof publishers === 'function' ? await publishers(name) : publishers;
    try {
      return checked([...fullPublisher(own), ...(others ?? [])]);
    } catch (error) {
      this.#onError(error as Error);
      return [];
    }
  }

  /** @throws PublishError, and ListenError `bus-unavailable` or `bus-overloaded`. */
  async #publishTo(
    name: string,
    events: string[],
    once: IdempotencyKey | undefined,
  ): Promise<number> {
    const stub = (): BusStub => busStub(this.#namespace, name);
    const position = await publishTo(stub, events, once);
    if (position === 'key-reused') throw new PublishError('idempotency-key-reused');
    if (position === 'signatures-full') throw new PublishError('too-many-signed-publishes');
    return position;
  }
}

interface Authenticated {
  body: Uint8Array<ArrayBuffer>;
  proof: Signature;
  publisher: Publisher;
}

/**
 * Returns the publisher with this secret and all rights; none for a function, which is called for
 * each request.
 */
function fullPublisher(secret: PublishHandlerOptions['secret']): Publisher[] {
  return typeof secret === 'string' && secret !== '' ? [{ secret }] : [];
}

/**
 * Returns the key under which failures are counted. Each unknown bus counts separately, as each
 * known one does, so that a 429 does not reveal which buses exist.
 */
function callerOf(request: Request, name: string | undefined): string {
  const { host, pathname } = new URL(request.url);
  return `${addressOf(request) ?? ''} ${name ?? (host + pathname).slice(0, MAX_URL_CHARACTERS)}`;
}

/**
 * Checks the parts of the head that do not depend on the sender.
 *
 * @throws PublishError
 */
function checkHead({ headers, method }: Request, maxBytes: number): void {
  if (method !== 'POST') throw new PublishError('method-not-allowed');
  const [type = '', ...parameters] = (headers.get('content-type') ?? '').toLowerCase().split(';');
  const isPlain = parameters.every((parameter) => !/charset=(?!"?utf-8"?\s*$)/.test(parameter));
  const isEncoded = ![null, 'identity'].includes(headers.get('content-encoding'));
  if (type.trim() !== 'application/json' || !isPlain || isEncoded)
    throw new PublishError('unsupported-media-type');
  if (Number(headers.get('content-length') ?? 0) > maxBytes)
    throw new PublishError('body-too-large');
  const key = headers.get('idempotency-key');
  if (key !== null && !/^[\x21-\x7e]{1,256}$/.test(key))
    throw new PublishError('invalid-idempotency-key');
}

/**
 * Returns the publisher whose secret was used. Tries all secrets, so that the time taken does not
 * reveal which one matched, and one at a time, because each attempt copies the body.
 */
async function publisherOf(
  publishers: readonly Publisher[],
  proof: Signature,
  body: Uint8Array<ArrayBuffer>,
): Promise<Publisher | undefined> {
  decoy ??= { secret: crypto.randomUUID() };
  const candidates = publishers.length === 0 ? [decoy] : publishers;
  const matches: boolean[] = [];
  for (const { secret } of candidates) matches.push(await proof.isOf(secret, body));
  return publishers[matches.indexOf(true)];
}

/**
 * Returns what identifies a repeated publish: its key, its signature or both; undefined if it has
 * neither.
 */
async function onceOf(
  headers: Headers,
  { body, proof, publisher }: Authenticated,
): Promise<IdempotencyKey | undefined> {
  const key = headers.get('idempotency-key');
  const { signature } = proof;
  if (key === null && signature === undefined) return undefined;
  return {
    ...(key !== null && { key: await keyOf(publisher, key) }),
    ...(signature !== undefined && { signature }),
    digest: hex(await sha256(body)),
  };
}

/**
 * Returns the key as the bus stores it: with a prefix that identifies its publisher without
 * revealing the secret.
 */
async function keyOf({ secret }: Publisher, key: string): Promise<string> {
  const digest = await sha256(`mcp-listen idempotency ${secret}`);
  return `${hex(digest).slice(0, PUBLISHER_DIGITS)} ${key}`;
}

/** @throws ListenError `bus-unavailable` or `bus-overloaded`. */
async function publishTo(
  stub: () => BusStub,
  events: string[],
  once: IdempotencyKey | undefined,
): Promise<PublishedAt> {
  // The bus ignores a repeated publish with a known key or signature.
  const attempts = once === undefined ? () => attemptsFor(events) : MAX_ATTEMPTS;
  try {
    return await retrying(attempts, () =>
      once === undefined ? stub().publishAll(events) : stub().publishOnce(events, once),
    );
  } catch (cause) {
    throw unavailable('the bus did not accept the publish', cause);
  }
}

/**
 * Tried for a bus without publishers. Created at the first request, because Workers provide no
 * random numbers in the global scope.
 */
let decoy: Publisher | undefined;
/** Maximum bytes of a body, on a bus without events. */
const MAX_BYTES = 65_536;
/** Maximum bytes of a body, on a bus with events. */
const MAX_EVENT_BYTES = 262_144;
/** Number of hexadecimal digits that identify a publisher. */
const PUBLISHER_DIGITS = 16;
/** Maximum characters of a URL that distinguish unknown buses. */
const MAX_URL_CHARACTERS = 256;
