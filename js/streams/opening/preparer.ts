import type { AuthorizeContext, AuthorizeOptions, CallerContext } from '../../auth/authorize.js';
import type { PrincipalOptions } from '../../auth/principal.js';
import {
  isReauthorized,
  type ReauthorizeOptions,
  type Reauthorizer,
  reauthorizerOf,
} from '../../auth/reauthorize.js';
import type { Opening, StreamOwner } from '../../bus/opening.js';
import { type Intervals, jittered, type ListenTimeouts } from '../../model/timeouts.js';
import type { Stream } from '../../wasm/server/bindings.js';

/** Options of {@link OpeningPreparer}. */
export interface OpeningPreparerOptions {
  timeouts: Required<ListenTimeouts>;
  intervals: Required<Intervals>;
  /** Determines what callers may receive. */
  authorizeOptions: AuthorizeOptions<AuthorizeContext>;
  /** Determines the names of callers. */
  principalOptions: PrincipalOptions;
}

/** Prepares streams of the core for a bus, with the intervals of the server. */
export class OpeningPreparer {
  readonly #options: OpeningPreparerOptions;
  readonly #reauthorizeOptions: ReauthorizeOptions;

  constructor(options: OpeningPreparerOptions) {
    const { authorizeOptions, intervals, principalOptions } = options;
    this.#options = options;
    this.#reauthorizeOptions = {
      ...{ authorizeOptions, principalOptions },
      ms: intervals.authorizationTtlMs,
    };
  }

  /** Whether callers are authorized again while their streams are open. */
  get isReauthorized(): boolean {
    return isReauthorized(this.#reauthorizeOptions);
  }

  /** Milliseconds between the keep-alives of the next stream. */
  keepAliveMs(): number {
    return jittered(this.#options.intervals.keepAliveMs);
  }

  /** Returns what authorizes a caller again; undefined: not needed. */
  reauthorizer(caller: CallerContext): Reauthorizer | undefined {
    return reauthorizerOf(this.#reauthorizeOptions, caller);
  }

  /** Prepares a stream of the core, whose caller was authorized at `authorizedAt`. */
  prepare(
    stream: Stream,
    caller: CallerContext,
    authorizedAt: number,
    { owner, reauthorizer }: { owner: StreamOwner; reauthorizer: Reauthorizer | undefined },
  ): Opening {
    const { intervals, timeouts } = this.#options;
    return {
      stream,
      owner,
      writeMs: timeouts.writeMs,
      maxConnectionAgeMs: jittered(intervals.maxConnectionAgeMs),
      expiresAt: caller.expiresAt,
      reauthorizer,
      authorizedAt,
      signal: caller.request.signal,
    };
  }
}
