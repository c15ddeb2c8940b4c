import { calling, ListenError } from '../model/error.js';
import { PerInstance } from '../wasm/per-instance.js';
import { Discovered, Question, questionOf } from '../wasm/server/bindings.js';
import type { Credentials } from '../web/credentials.js';
import type { FetchHandler } from './handler.js';
import { questionFor } from './question.js';
import { type AnswerLimits, wholeBody } from './upstream-response.js';

/** The members of MCP's `ServerCapabilities` that concern subscriptions; others are ignored. */
export interface ListenCapabilities {
  tools?: { listChanged?: boolean };
  prompts?: { listChanged?: boolean };
  resources?: { listChanged?: boolean; subscribe?: boolean };
  /** By name; `io.modelcontextprotocol/tasks` is the one that concerns subscriptions. */
  extensions?: { [name: string]: object };
}

/** How the server behind is asked. */
export interface DiscoveryOptions {
  /** The header fields that identify its callers. */
  credentials: Credentials;
  /** How much of its answers is read. */
  limits: AnswerLimits;
  /** What is known of it; undefined: it is asked. */
  server: DeclaredServer | undefined;
}

/** What is known of the server behind: asked of it, and asked again when that no longer holds. */
export class Discovery {
  readonly #handler: FetchHandler;
  readonly #credentials: Credentials;
  readonly #limits: AnswerLimits;
  readonly #declared: PerInstance<Discovered> | undefined;
  #asked: PerInstance<Discovered | undefined> | undefined;
  /** On whose behalf it was asked for. */
  #caller = '';

  /** @throws ListenError `invalid-options`. */
  constructor(handler: FetchHandler, { credentials, limits, server }: DiscoveryOptions) {
    this.#handler = handler;
    this.#credentials = credentials;
    this.#limits = limits;
    this.#declared = server && new PerInstance(() => declared(server));
  }

  /**
   * Calls `action` with what is known; it must not keep it. Results are shared between requests, questions are
   * not: workerd lets no request wait for another one's.
   *
   * @throws ListenError `discover-failed`.
   */
  use<T>(request: Request, rest: unknown[], action: (known: Discovered) => T): Promise<T> {
    return this.#ask(request, rest, (known) => {
      if (known !== undefined) return action(known);
      throw new ListenError(
        'discover-failed',
        'the handler did not answer server/discover with its capabilities',
      );
    });
  }

  /**
   * The capabilities as JSON text; undefined where the handler answers, but does not tell them.
   *
   * @throws ListenError `discover-failed`.
   */
  capabilities(request: Request, rest: unknown[]): Promise<string | undefined> {
    return this.#ask(request, rest, (known) => known?.capabilities);
  }

  get #known(): Discovered | undefined {
    return this.#declared?.value ?? this.#asked?.value;
  }

  async #ask<T>(
    request: Request,
    rest: unknown[],
    action: (known: Discovered | undefined) => T,
  ): Promise<T> {
    const now = performance.now();
    const caller = this.#credentials.keyOf(request);
    const known = this.#known;
    if (known?.isFresh(now, caller !== this.#caller)) return action(known);
    const told = Discovered.fromAnswer(await this.#discover(request, rest), now);
    if (told !== undefined) {
      this.#known?.free();
      this.#asked = remembered(told);
      this.#caller = caller;
    }
    return action(told);
  }

  /** Asks the handler `server/discover` with the credentials of `request`. */
  async #discover(request: Request, rest: unknown[]): Promise<Uint8Array> {
    try {
      const answer = await this.#handler(
        questionFor(request, this.#credentials, questionOf(Question.Discover)),
        ...rest,
      );
      if (answer.ok) return await wholeBody(answer, this.#limits);
      await answer.body?.cancel();
      return new Uint8Array();
    } catch (cause) {
      if (cause instanceof ListenError) throw cause;
      throw new ListenError(
        'discover-failed',
        'the handler threw when it was asked server/discover',
        { cause },
      );
    }
  }
}

/** The name and version of a server. */
export interface ServerInfo {
  name: string;
  version: string;
}

/** What a server says of itself, in place of its answer to `server/discover`. */
export interface DeclaredServer {
  /** Named in the result that ends a stream. */
  info: ServerInfo;
  /** What the server notifies about. */
  capabilities: ListenCapabilities;
}

/**
 * Returns what is known of a server that is declared; it never expires.
 *
 * @throws ListenError `invalid-options`.
 */
export function declared({ capabilities, info }: DeclaredServer): Discovered {
  if (typeof info?.name !== 'string' || typeof info.version !== 'string') {
    throw new ListenError('invalid-options', 'server.info needs a name and a version');
  }
  return calling(() => Discovered.fromOptions(JSON.stringify(capabilities), JSON.stringify(info)));
}

/** What was told, until the core begins anew: then it is asked for again. */
function remembered(told: Discovered): PerInstance<Discovered | undefined> {
  let known: Discovered | undefined = told;
  return new PerInstance(() => {
    const once = known;
    known = undefined;
    return once;
  });
}
