import { eventText } from '../bus/event-text.js';
import type { BusOperator } from '../bus/operator/operator.js';
import { ListenError } from '../model/error.js';
import type { ServerEvent } from '../model/event.js';
import { report, safeOnError } from '../observe/on-error.js';
import type { ListenHandler } from '../options.js';
import { ConcurrencyLimit } from '../timing/concurrency-limit.js';
import { expectToken, hasBearerToken } from '../web/bearer.js';
import { jsonResponse } from '../web/json-response.js';
import { readStart } from '../web/request-body.js';
import { operatorOf } from './operators.js';
import { type Order, orderOf, type PublishedEvent } from './orders.js';
import { PublicStats } from './public-stats.js';
import { statsStream } from './stats-stream.js';

/**
 * The part of a {@link ListenHandler} that is operated: pass a result of `createListenHandler`, or
 * of an adapter.
 */
export type OperatedServer = Omit<ListenHandler, 'fetch'>;

/** Options of {@link createOperatorHandler}. */
export interface OperatorOptions {
  /**
   * The server, or one of several on the same bus: a result of `createListenHandler`, of
   * `listenMiddleware` of `mcp-listen/hono`, or of `createMcpHandler` of `mcp-listen/sdk`.
   */
  server: OperatedServer;
  /**
   * The bearer token that requests need, at least 16 bytes. Without it there is no `operate`, and
   * no `stats` unless `isPublic`.
   *
   * @default undefined
   */
  token?: string | undefined;
  /**
   * The path before `stats` and `operate`. It begins and ends with a slash.
   *
   * @default '/console/'
   */
  path?: string;
  /**
   * Lets everyone read `stats`, without topics, callers and the log; a wrong token is refused. It
   * is up to a second old, so that the bus is asked once a second at most. At most 100 streams of
   * it are open at a time in a process or isolate; one more gets 429.
   *
   * @default false
   */
  isPublic?: boolean;
  /**
   * Called with every error that leads to a 503.
   *
   * @default console.error
   */
  onError?: (error: Error) => void;
}

/**
 * Creates a handler that shows and operates a bus, with all its objects and isolates, or, for a bus
 * without a Durable Object, the process that responds: `GET stats` and `POST operate` below `path`.
 * Resolves with undefined for every other path.
 *
 * @throws ListenError `invalid-options`.
 *
 * @example
 * ```ts
 * const operated = createOperatorHandler({ server, token: env.OPERATOR_TOKEN });
 * // in fetch:
 * const response = (await operated(request)) ?? (await server.fetch(request));
 * ```
 */
export function createOperatorHandler(
  options: OperatorOptions,
): (request: Request) => Promise<Response | undefined> {
  const { fetch } = new OperatorHandler(options);
  return fetch;
}

class OperatorHandler {
  readonly #server: OperatedServer;
  readonly #operator: BusOperator;
  readonly #publicStats: PublicStats;
  readonly #publicStreams = new ConcurrencyLimit<'stats'>();
  readonly #token: string | undefined;
  readonly #path: string;
  readonly #isPublic: boolean;
  readonly #onError: (error: Error) => void;

  constructor({ isPublic = false, onError = report, path, server, token }: OperatorOptions) {
    if (token !== undefined) expectToken(token);
    this.#server = server;
    this.#operator = operatorOf(server);
    this.#publicStats = new PublicStats(this.#operator);
    this.#token = token;
    this.#path = pathOf(path);
    this.#isPublic = isPublic;
    this.#onError = safeOnError(onError);
  }

  readonly fetch = async (request: Request): Promise<Response | undefined> => {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === `${this.#path}stats` && (this.#isPublic || this.#token !== undefined))
      return this.#stats(request, searchParams);
    if (pathname === `${this.#path}operate` && this.#token !== undefined)
      return this.#operate(request);
    return undefined;
  };

  async #stats(request: Request, asked: URLSearchParams): Promise<Response> {
    if (request.method !== 'GET') return notAllowed('GET');
    const isOperator = await this.#isOperator(request);
    if (!isOperator && !this.#isPublicFor(request)) return unauthorized();
    const hasCallers = isOperator && asked.get('callers') === '1';
    const isStream = /\btext\/event-stream\b/i.test(request.headers.get('accept') ?? '');
    if (!isOperator)
      return isStream ? this.#publicStream() : this.#responded(() => this.#publicStats.next());
    let after = Number(asked.get('after')) || 0;
    const next = async () => {
      const snapshot = await this.#operator.snapshot({ hasCallers, after });
      after = snapshot.log.at(-1)?.position ?? after;
      return snapshot;
    };
    return isStream ? statsStream(next) : this.#responded(next);
  }

  /** Returns a stream of public statistics, if there is room for one. */
  #publicStream(): Response {
    let place = this.#publicStreams.enter('stats', MAX_PUBLIC_STREAMS);
    if (place === undefined) return tooManyStreams();
    const next = () => {
      // A place expires, because Workers may not say that a client is gone.
      place?.leave();
      place = this.#publicStreams.enter('stats');
      return this.#publicStats.next();
    };
    return statsStream(next, () => place?.leave());
  }

  async #operate(request: Request): Promise<Response> {
    if (request.method !== 'POST') return notAllowed('POST');
    if (!(await this.#isOperator(request))) return unauthorized();
    return this.#responded(async () => {
      const { bytes } = await readStart(request, MAX_BYTES, BODY_MS);
      if (bytes.byteLength > MAX_BYTES)
        throw new ListenError('invalid-order', 'the order is too large');
      return this.#carryOut(orderOf(new TextDecoder().decode(bytes)));
    });
  }

  async #carryOut(order: Order): Promise<object> {
    if (order.do === 'publish') return this.#publish(order.events);
    if (order.do === 'disconnect')
      return this.#publish([{ kind: 'disconnect', principal: order.principal }]);
    const { count, isolate, windowMs = DRAIN_MS } = order;
    return { isolates: await this.#operator.drain({ isolate, count, windowMs }) };
  }

  async #publish(events: PublishedEvent[]): Promise<{ position?: number | undefined }> {
    const [first] = events;
    if (first?.kind === 'event' && events.length === 1) {
      const { data, group, name } = first;
      return this.#server.notify.event(name, data, group === undefined ? {} : { group });
    }
    return {
      position: await this.#operator.publish(
        events.map((event) => eventText(event as ServerEvent)),
      ),
    };
  }

  async #responded(report: () => Promise<object>): Promise<Response> {
    try {
      return jsonResponse(JSON.stringify(await report()));
    } catch (error) {
      const { code = 'unavailable', message } = error as Partial<ListenError>;
      if (/^(invalid|malformed|unknown|too-many|events?)-/.test(code))
        return jsonResponse(JSON.stringify({ error: code, message }), 400);
      this.#onError(error as Error);
      return jsonResponse(JSON.stringify({ error: code, message: 'try again later' }), 503);
    }
  }

  /**
   * A wrong token is refused: its bearer expects more than the public numbers. A proxy with other
   * credentials may pass those on.
   */
  #isPublicFor({ headers }: Request): boolean {
    const isBearer = /^bearer\b/i.test(headers.get('authorization') ?? '');
    return this.#isPublic && (this.#token === undefined || !isBearer);
  }

  async #isOperator(request: Request): Promise<boolean> {
    return this.#token !== undefined && (await hasBearerToken(request, this.#token));
  }
}

/**
 * Returns the path of a console, or the default.
 *
 * @throws ListenError `invalid-options`.
 */
export function pathOf(path = '/console/'): string {
  if (path.startsWith('/') && path.endsWith('/')) return path;
  throw new ListenError('invalid-options', 'path must begin and end with a slash');
}

function notAllowed(allow: string): Response {
  return new Response(null, { status: 405, headers: { allow } });
}

function unauthorized(): Response {
  const response = jsonResponse(JSON.stringify({ error: 'unauthorized' }), 401);
  response.headers.set('www-authenticate', 'Bearer');
  return response;
}

function tooManyStreams(): Response {
  const response = jsonResponse(JSON.stringify({ error: 'too-many-streams' }), 429);
  response.headers.set('retry-after', '10');
  return response;
}

/** Maximum number of streams of public statistics at a time, in this process or isolate. */
const MAX_PUBLIC_STREAMS = 100;
/** The default of `windowMs` in milliseconds, the same as in `drain` of a server. */
const DRAIN_MS = 30_000;
/** Maximum bytes of an order. */
const MAX_BYTES = 262_144;
/** Milliseconds that the body of an order may take. */
const BODY_MS = 10_000;
