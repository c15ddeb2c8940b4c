import { calling, ListenError } from '../model/error.js';
import {
  type Discovered,
  discoveredIn,
  discoveredOf,
  ProbeQuestion,
  questionOf,
} from '../wasm/server/bindings.js';
import type { Credentials } from '../web/credentials.js';
import type { FetchHandler } from './handler.js';
import { serverRequest } from './server-request.js';
import { type ResponseLimits, wholeBody } from './upstream-response.js';

/** The members of MCP's `ServerCapabilities` that concern subscriptions; others are ignored. */
export interface ListenCapabilities {
  /** The capabilities of tools. */
  tools?: {
    /** Whether changes of the list of tools are announced. */
    listChanged?: boolean;
  };
  /** The capabilities of prompts. */
  prompts?: {
    /** Whether changes of the list of prompts are announced. */
    listChanged?: boolean;
  };
  /** The capabilities of resources. */
  resources?: {
    /** Whether changes of the list of resources are announced. */
    listChanged?: boolean;
    /** Whether clients may subscribe to single resources. */
    subscribe?: boolean;
  };
  /**
   * Extensions by name; `io.modelcontextprotocol/tasks` and, with `listChanged: true`,
   * `io.modelcontextprotocol/events` concern subscriptions.
   */
  extensions?: { [name: string]: object };
}

/** Options of {@link Discovery}. */
export interface DiscoveryOptions {
  /** The header fields that identify callers. */
  credentials: Credentials;
  /** Limits on reading responses of the handler. */
  limits: ResponseLimits;
  /** The declared capabilities; undefined: the handler is sent `server/discover`. */
  server: DeclaredServer | undefined;
}

/**
 * The capabilities of the handler, from `server/discover`, which is sent again once they have
 * expired.
 */
export class Discovery {
  readonly #handler: FetchHandler;
  readonly #credentials: Credentials;
  readonly #limits: ResponseLimits;
  readonly #declared: Discovered | undefined;
  /** The latest public results, by URLs without a query. */
  readonly #ofPaths = new Map<string, Discovered>();
  /**
   * The latest other results: public ones by URL, otherwise by caller and URL. Clients choose the
   * query, so these must not take the place of the others.
   */
  readonly #ofOthers = new Map<string, Discovered>();

  /** @throws ListenError `invalid-options`. */
  constructor(handler: FetchHandler, { credentials, limits, server }: DiscoveryOptions) {
    this.#handler = handler;
    this.#credentials = credentials;
    this.#limits = limits;
    this.#declared = server && declared(server);
  }

  /**
   * Returns the capabilities. Results are shared between requests, but requests to the handler are
   * not: workerd does not let a request wait for another one.
   *
   * @throws ListenError `discover-failed`.
   */
  async discovered(request: Request, rest: unknown[]): Promise<Discovered> {
    const known = await this.known(request, rest);
    if (known !== undefined) return known;
    throw new ListenError(
      'discover-failed',
      'the handler returned no capabilities for server/discover',
    );
  }

  /**
   * As {@link Discovery.discovered}; undefined if the handler returns no capabilities.
   *
   * @throws ListenError `discover-failed`.
   */
  async known(request: Request, rest: unknown[]): Promise<Discovered | undefined> {
    if (this.#declared !== undefined) return this.#declared;
    const now = performance.now();
    const { url } = request;
    const caller = this.#credentials.keyOf(request);
    const known = [this.#ofPaths.get(url), this.#ofOthers.get(url), this.#ofOthers.get(caller)];
    const fresh = known.find((result) => result !== undefined && isFresh(result, now));
    if (fresh !== undefined) return fresh;
    const discovered = discoveredIn(await this.#discover(request, rest), now);
    if (discovered === undefined || !isFresh(discovered, now)) return discovered;
    if (!discovered.isPublic) keep(this.#ofOthers, caller, discovered);
    else keep(url.includes('?') ? this.#ofOthers : this.#ofPaths, url, discovered);
    return discovered;
  }

  /** Sends `server/discover` to the handler with the credentials of `request`. */
  async #discover(request: Request, rest: unknown[]): Promise<Uint8Array> {
    try {
      const response = await this.#handler(
        serverRequest(request, this.#credentials, questionOf(ProbeQuestion.Discover)),
        ...rest,
      );
      if (response.ok) return await wholeBody(response, this.#limits);
      await response.body?.cancel();
      return new Uint8Array();
    } catch (cause) {
      if (cause instanceof ListenError) throw cause;
      throw new ListenError('discover-failed', 'the handler threw on server/discover', { cause });
    }
  }
}

/** The name and version of a server. */
export interface ServerInfo {
  /** The name of the server. */
  name: string;
  /** The version of the server. */
  version: string;
}

/** The name and capabilities of a server, in place of its response to `server/discover`. */
export interface DeclaredServer {
  /** The name and version in the result that ends a stream. */
  info: ServerInfo;
  /** The capabilities that the server notifies about. */
  capabilities: ListenCapabilities;
}

/** Returns a declared server that also notifies about changes of its event types. */
export function withEvents(server: DeclaredServer | undefined): DeclaredServer | undefined {
  const extensions = { ...server?.capabilities?.extensions, [EVENTS]: { listChanged: true } };
  return server && { ...server, capabilities: { ...server.capabilities, extensions } };
}

/**
 * Returns the capabilities of a declared server; they never expire.
 *
 * @throws ListenError `invalid-options`.
 */
export function declared({ capabilities, info }: DeclaredServer): Discovered {
  if (typeof info?.name !== 'string' || typeof info.version !== 'string') {
    throw new ListenError('invalid-options', 'server.info needs a name and a version');
  }
  return calling(() => discoveredOf(JSON.stringify(capabilities), JSON.stringify(info)));
}

/** Returns whether the capabilities have not expired at `now`. */
export function isFresh({ freshUntil }: Discovered, now: number): boolean {
  return freshUntil === undefined || now < freshUntil;
}

function keep(results: Map<string, Discovered>, key: string, discovered: Discovered): void {
  results.delete(key);
  results.set(key, discovered);
  const [oldest] = results.keys();
  if (results.size > MAX_RESULTS && oldest !== undefined) results.delete(oldest);
}

/** Maximum number of results that are cached: of paths, and of others. */
const MAX_RESULTS = 16;
const EVENTS = 'io.modelcontextprotocol/events';
