import { type Authorize, type AuthorizeOptions, runAuthorize } from '../../auth/authorize.js';
import type { AttachableBus, FanoutSink } from '../../bus/attachable-bus.js';
import type { TopicGrant } from '../../bus/wanted/interest.js';
import { topicsOf, withoutTopics } from '../../bus/wanted/topic.js';
import type { ListenCapabilities } from '../../handler/discovery.js';
import { MAX_COUNT } from '../../model/amount.js';
import { calling, ListenError } from '../../model/error.js';
import type { SubscriptionFilter } from '../../model/filter.js';
import { coreLimits, type ListenLimits } from '../../model/limits.js';
import { finiteTimeout, type ListenTimeouts, SETTLE_MS } from '../../model/timeouts.js';
import { pause } from '../../timing/keep-trying.js';
import { withTimeout } from '../../timing/with-timeout.js';
import {
  Channel,
  type ChannelInput,
  type Discovered,
  Refusal,
} from '../../wasm/server/bindings.js';
import { serverGuard } from '../../wasm/server/guard.js';
import { eachLine } from './lines.js';
import type { StdioAuthorizeContext } from './options.js';

/** Options of {@link Subscriptions}. */
export interface SubscriptionsOptions {
  authorize: Authorize<StdioAuthorizeContext> | undefined;
  bus: AttachableBus;
  /** The capabilities that the MCP server has declared, if these need not be discovered. */
  capabilities: ListenCapabilities | undefined;
  /** Returns the capabilities of the MCP server. May reject with a `ListenError`. */
  discover: () => Promise<Discovered>;
  limits: Required<ListenLimits> & { lineBytes: number };
  timeouts: Required<ListenTimeouts>;
  onError: (error: Error) => void;
  /** Called when there may be output. */
  onOutput: () => void;
}

/**
 * The subscriptions of one stdio connection. Passes the client's bytes and the events of the bus to
 * the core, and returns the core's lines.
 */
export class Subscriptions implements FanoutSink {
  readonly #options: SubscriptionsOptions;
  readonly #authorizeOptions: AuthorizeOptions<StdioAuthorizeContext>;
  /** Detaches the subscriptions from the bus. */
  #detach: (() => void) | undefined;
  /** What the hooks of the bus have granted to each subscription, by its handle. */
  readonly #grants = new Map<number, TopicGrant>();
  /** Aborts when nothing more is opened. */
  readonly #ending = new AbortController();
  #channel: Channel | undefined;

  constructor(options: SubscriptionsOptions) {
    const { authorize, capabilities, limits, onError, timeouts } = options;
    const { lineBytes, maxSubscriptions } = limits;
    const known = capabilities && JSON.stringify(capabilities);
    this.#options = options;
    this.#authorizeOptions = { authorize, ms: timeouts.authorizeMs, onError };
    const [bytes, max] = [Math.min(lineBytes, MAX_COUNT), Math.min(maxSubscriptions, MAX_COUNT)];
    this.#channel = calling(() => new Channel(coreLimits(limits), bytes, max, known));
  }

  /** Handles bytes of the client. Returns the bytes to forward to the MCP server. */
  receive(bytes: Uint8Array): Uint8Array[] {
    this.#channel?.handleBytes(bytes);
    return this.#handleInputs();
  }

  /** Handles complete lines of the MCP server. Returns the lines to pass to the client now. */
  pass(lines: Buffer): Uint8Array | undefined {
    if (this.#channel?.state().awaitsResponses !== true) return lines;
    const passed = [...eachLine(lines)]
      .map((line) => this.#channel?.handleServerLine(line))
      .filter((line) => line !== undefined);
    // The client's own lines were handled when they arrived: these inputs result from the server's
    // responses.
    this.#handleInputs();
    return passed.length > 0 ? Buffer.concat(passed) : undefined;
  }

  /** Returns the next lines for the client. */
  poll(): Uint8Array | undefined {
    return this.#channel?.pollLines();
  }

  /** Whether responses are pending. */
  get hasResponses(): boolean {
    return this.#channel?.state().hasResponses === true;
  }

  get streams(): number {
    return this.#channel?.state().subscriptions ?? 0;
  }

  publish(events: string): void {
    this.#channel?.handleEvents(events);
    this.#options.onOutput();
  }

  gap(): void {
    this.#channel?.handleGap(false);
    this.#options.onOutput();
  }

  release(): void {
    this.#channel?.close(true);
    this.#options.onOutput();
  }

  /** Releases what has ended, and detaches from the bus when no subscription is left. */
  settle(): void {
    for (const [handle, grant] of this.#grants) {
      if (this.#holds(handle)) continue;
      this.#grants.delete(handle);
      grant.release();
    }
    if (this.streams > 0) return;
    this.#detach?.();
    this.#detach = undefined;
  }

  /**
   * Ends all subscriptions gracefully, after the bus has delivered what was published before. Their
   * remaining output can be polled then.
   */
  async close(): Promise<void> {
    const { bus } = this.#options;
    try {
      if (bus.settle !== undefined) await withTimeout(SETTLE_MS, bus.settle(), settleTimeout);
    } catch {
      this.#channel?.handleGap(true);
    }
    this.#channel?.close(false);
  }

  /**
   * Ends all subscriptions without a result. Returns the bytes of an unfinished line, for the MCP
   * server.
   */
  end(): Uint8Array {
    const unfinished = this.#channel?.handleEnd() ?? new Uint8Array();
    this.#channel?.free();
    this.#channel = undefined;
    this.#ending.abort();
    this.settle();
    return unfinished;
  }

  /**
   * Drops the subscriptions after a reset of the core, which no longer knows them. Does not call
   * the core.
   */
  handleReset(): void {
    this.#channel = undefined;
    this.#ending.abort();
    setImmediate(() => this.settle());
  }

  #handleInputs(): Uint8Array[] {
    const forward: Uint8Array[] = [];
    for (
      let input = this.#channel?.pollInput();
      input !== undefined;
      input = this.#channel?.pollInput()
    ) {
      const passed = this.#handleInput(input);
      if (passed !== undefined) forward.push(passed);
    }
    return forward;
  }

  #handleInput(input: ChannelInput): Uint8Array | undefined {
    if (input.kind === 'forward') return input.bytes;
    this.#serve(
      input.handle,
      JSON.parse(input.requested) as SubscriptionFilter,
      input.kind === 'session',
    ).catch((error: Error) => {
      // The connection has reported a trap.
      if (!serverGuard.isTrapError(error)) this.#options.onError(error);
    });
    return undefined;
  }

  /**
   * Opens or refuses a subscription. The client of a session cannot learn that its lists are
   * refused, or which of them: after a transient failure they are tried again, and then cued.
   */
  async #serve(handle: number, requested: SubscriptionFilter, isOfSession: boolean): Promise<void> {
    const kind = kindOf(requested, isOfSession);
    let refusal = await this.#tryToOpen(handle, requested, kind);
    while (kind === 'lists' && isTransient(refusal) && this.#holds(handle)) {
      await pause(RETRY_MS, this.#ending.signal);
      if (!this.#holds(handle)) return;
      refusal = await this.#tryToOpen(handle, requested, kind);
      if (refusal === undefined) this.#channel?.handleGap(false);
    }
    if (refusal !== undefined) this.#channel?.refuse(handle, refusal);
    this.#options.onOutput();
  }

  /**
   * Opens a subscription, or opens lists again with what the hooks of the bus grant now. Returns
   * the refusal if that fails; also for lists that are open if a hook has failed for one of them.
   */
  async #tryToOpen(
    handle: number,
    requested: SubscriptionFilter,
    kind: SubscriptionKind,
  ): Promise<Refusal | undefined> {
    const { filter, refusal } = await runAuthorize(this.#authorizeOptions, { requested });
    if (refusal !== undefined) return refusal;
    try {
      const discovered = kind === 'listen' ? await this.#options.discover() : undefined;
      if (kind !== 'lists') await this.#untilReady();
      const granted = await this.#granted(handle, filter, discovered);
      const isTriedAgain = kind === 'lists' && granted.hasFailed;
      // What is open for nothing ends at once.
      if (!isTriedAgain || !granted.isEmpty) this.#open(handle, granted.filter, discovered);
      return isTriedAgain ? Refusal.Unavailable : undefined;
    } catch (error) {
      this.#options.onError(error as Error);
      return Refusal.Unavailable;
    }
  }

  /**
   * Waits until the bus receives everything. The lists of a session do not: they have no response
   * that promises it, and the bus reports a gap once it does.
   */
  async #untilReady(): Promise<void> {
    const { bus, timeouts } = this.#options;
    if (bus.ready !== undefined)
      await withTimeout(finiteTimeout(timeouts.attachMs), bus.ready(), attachTimeout);
  }

  /**
   * Attaches to the bus before the subscription opens, so that it receives everything published
   * after that.
   */
  #open(handle: number, filter: string | undefined, discovered: Discovered | undefined): void {
    if (this.#channel === undefined) return;
    this.#detach ??= this.#attach();
    const { offers, serverInfo } = discovered ?? {};
    calling(() => this.#channel?.open(handle, offers, serverInfo, filter));
  }

  /** Returns the filter without the topics that the hooks of the bus refuse. */
  async #granted(
    handle: number,
    filter: string | undefined,
    discovered: Discovered | undefined,
  ): Promise<Granted> {
    const { interest } = this.#options.bus;
    const honored = interest && this.#channel?.honored(handle, discovered?.offers, filter);
    if (interest === undefined || honored === undefined)
      return { filter, hasFailed: false, isEmpty: false };
    const topics = topicsOf(JSON.parse(honored) as SubscriptionFilter);
    const grant = await interest.want(topics);
    this.#keep(handle, grant);
    const { failed, refused } = grant;
    const [hasFailed, isEmpty] = [failed.length > 0, refused.length === topics.length];
    if (refused.length === 0) return { filter, hasFailed, isEmpty };
    const allowed = JSON.parse(filter ?? honored) as SubscriptionFilter;
    return { filter: JSON.stringify(withoutTopics(allowed, refused)), hasFailed, isEmpty };
  }

  /** Keeps what was granted to a subscription until it ends, in place of the previous grant. */
  #keep(handle: number, grant: TopicGrant): void {
    const former = this.#grants.get(handle);
    if (this.#holds(handle)) {
      grant.keep();
      this.#grants.set(handle, grant);
    } else grant.release();
    former?.release();
  }

  #holds(handle: number): boolean {
    return this.#channel?.holds(handle) === true;
  }

  #attach(): () => void {
    const detach = this.#options.bus.subscribeAll?.(this);
    if (detach === undefined)
      throw new ListenError('bus-unavailable', 'the bus does not support streams on stdio');
    return detach;
  }
}

/** What the hooks of the bus grant to a subscription. */
interface Granted {
  /** The granted part of a filter, as JSON text; undefined: everything. */
  filter: string | undefined;
  /** Whether a hook has failed, and may grant more later. */
  hasFailed: boolean;
  /** Whether the hooks refuse everything. */
  isEmpty: boolean;
}

/** A listen request; or, in a session, its lists or a resource. */
type SubscriptionKind = 'listen' | 'lists' | 'resource';

function kindOf(requested: SubscriptionFilter, isOfSession: boolean): SubscriptionKind {
  if (!isOfSession) return 'listen';
  return requested.resourceSubscriptions === undefined ? 'lists' : 'resource';
}

/** Whether the same subscription may be opened a little later. */
function isTransient(refusal: Refusal | undefined): boolean {
  return refusal === Refusal.AuthorizerFailed || refusal === Refusal.Unavailable;
}

function attachTimeout(): ListenError {
  return new ListenError('attach-timeout', 'the bus did not reply in time');
}

function settleTimeout(): ListenError {
  return new ListenError('bus-lost', 'the bus did not reply in time');
}

/** Milliseconds after which the lists of a session are tried again. */
const RETRY_MS = 5_000;
