import type { CallerContext } from '../../../auth/authorize.js';
import { checksOf, ofOpenStream } from '../../../auth/open-stream.js';
import { LastResult } from '../../../auth/outage.js';
import { type Reauthorizer, type RenewedRights, sameCaller } from '../../../auth/reauthorize.js';
import type { EventSource } from '../../../bus/events.js';
import type { ServerStream } from '../../../bus/server-stream.js';
import { ConcurrencyLimit } from '../../../timing/concurrency-limit.js';
import { cueGroups, type EventExchange, type EventStep } from '../../../wasm/events/bindings.js';
import { Refusal } from '../../../wasm/server/bindings.js';
import { bodiless } from '../../../web/request-body.js';
import type { EventOptions } from '../../define/definitions.js';
import type { EventTypeTable } from '../../define/event-type-table.js';
import type { EventAuthorizer, Subject } from '../authorizer.js';
import type { EventHost } from '../host.js';
import { EventStream } from './event-stream.js';
import { StreamGroup } from './stream-group.js';

/** What opens streams of events. */
export interface StreamOpenerOptions {
  authorizer: EventAuthorizer;
  host: EventHost;
  log: EventSource;
  options: EventOptions;
  types: EventTypeTable;
}

/** The stream that a request asks for. */
export type StreamRequest = Extract<EventStep, { kind: 'stream' }> & Subject;

/** Opens the streams of events of one handler. */
export class StreamOpener {
  readonly #of: StreamOpenerOptions;
  readonly #groups = new WeakMap<object, StreamGroup>();
  /** The streams of each caller. */
  readonly #callers = new ConcurrencyLimit<string | undefined>();

  constructor(of: StreamOpenerOptions) {
    this.#of = of;
  }

  /**
   * Opens the stream of an exchange. Returns why not if it cannot be opened now: an error as JSON
   * text for the core, or a refusal of the request.
   */
  async open(
    exchange: EventExchange,
    step: StreamRequest,
    caller: CallerContext,
  ): Promise<Response | Refusal | string> {
    const { maxSubscriptionsPerPrincipal: max = 16 } = this.#of.options;
    const { principal } = caller;
    const place = this.#callers.enter(principal, principal === undefined ? undefined : max);
    if (place === undefined) return exhausted(max);
    const { host } = this.#of;
    const stream = new EventStream(step.name, { leave: place.leave, writeMs: host.writeMs });
    const reauthorizer = this.#reauthorizer(stream, step, caller);
    stream.isReauthorized = reauthorizer !== undefined;
    let refused: Refusal | string = internal('bus');
    try {
      const opened = await host.open({
        uri: step.uri,
        groups: step.groups,
        ...{ caller, reauthorizer },
        onChunk: (chunk) => this.#reporting(() => stream.handleChunk(chunk)),
        onEnd: (ending) => this.#reporting(() => stream.handleEnd(ending)),
      });
      if (typeof opened === 'number') {
        refused = this.#refused(opened, principal === undefined ? undefined : max);
      } else if (!stream.hasEnded) {
        stream.listen = opened;
        await this.#groupOf(opened).begin(exchange, stream);
        place.keep();
        return stream.response();
      }
    } catch (error) {
      stream.listen?.abort();
      // A client that has disconnected is not an error.
      if (!caller.request.signal.aborted) host.onError(error as Error);
    }
    place.leave();
    return refused;
  }

  /** Returns the refusal of a stream as one of events. `max`: the limit of a caller with a name. */
  #refused(refusal: Refusal, max: number | undefined): Refusal | string {
    const { maxSubscriptions, maxSubscriptionsPerAddress } = this.#of.host.limits;
    switch (refusal) {
      case Refusal.TooManyOfCaller:
        return exhausted(max ?? maxSubscriptionsPerAddress);
      case Refusal.TooManyStreams:
        return exhausted(maxSubscriptions);
      case Refusal.HeadersTooLarge:
        return refusal;
      default:
        return internal(refusal === Refusal.Closing ? 'closing' : 'bus');
    }
  }

  /** Runs an action that the listen stream calls, which a trap of this core must not break. */
  #reporting(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#of.host.onError(error as Error);
    }
  }

  #groupOf({ hasOwnContext: hasOwnContexts, holder }: ServerStream): StreamGroup {
    const known = this.#groups.get(holder);
    if (known?.isCurrent === true) return known;
    const { host, log, types } = this.#of;
    const { authorizeMs: matchMs, onError } = host;
    const isReauthorized = this.#isReauthorized;
    const group = new StreamGroup({
      ...{ hasOwnContexts, isReauthorized, log, matchMs, onError, types },
    });
    this.#groups.set(holder, group);
    return group;
  }

  /** Whether callers are authorized again while their streams are open. */
  get #isReauthorized(): boolean {
    const { authorizer, host } = this.#of;
    if (host.authorizationTtlMs === 0) return false;
    return host.principalOptions.principal !== undefined || authorizer.decides;
  }

  /** Returns what authorizes the caller again while its stream is open. */
  #reauthorizer(
    stream: EventStream,
    step: StreamRequest,
    caller: CallerContext,
  ): Reauthorizer | undefined {
    const { host } = this.#of;
    if (!this.#isReauthorized) return undefined;
    const kept = { ...caller, claims: undefined, request: ofOpenStream(bodiless(caller.request)) };
    const last = new LastResult(host.authorizationTtlMs);
    return {
      ms: host.authorizationTtlMs,
      renew: () =>
        this.#renewed(stream, step, kept, last).catch((error: Error) => {
          // Such as a group that is not valid: the caller may receive nothing.
          host.onError(error);
          return undefined;
        }),
      get isExhausted() {
        return checksOf(kept.request)?.isExhausted === true;
      },
      finish: () => stream.renewed(),
    };
  }

  async #renewed(
    stream: EventStream,
    step: StreamRequest,
    kept: CallerContext,
    last: LastResult,
  ): Promise<RenewedRights | undefined> {
    const { authorizer, host } = this.#of;
    const caller = await sameCaller(host.principalOptions, kept, last);
    if (caller === undefined) return undefined;
    const { claims, expiresAt, groups } = caller;
    const now = { ...kept, claims, expiresAt, groups };
    if ((await authorizer.ask(now, step, 'push', true)) !== true) return undefined;
    stream.group?.regroup(stream, groups ?? []);
    const filter = { resourceSubscriptions: [step.uri], groups: cueGroups(groups ?? []) };
    return { filter: JSON.stringify(filter), expiresAt };
  }
}

function internal(part: string): string {
  return JSON.stringify({ internal: part });
}

function exhausted(max: number): string {
  return JSON.stringify({ resourceExhausted: { limit: 'streams', max } });
}
