import { type Authorize, type AuthorizeOptions, runAuthorize } from '../../auth/authorize.js';
import type { AttachableBus, FanoutSink } from '../../bus/attachable-bus.js';
import type { ListenCapabilities } from '../../handler/discovery.js';
import { calling, ListenError } from '../../model/error.js';
import type { SubscriptionFilter } from '../../model/filter.js';
import { coreLimits, type ListenLimits } from '../../model/limits.js';
import { type ListenTimeouts, patienceOf } from '../../model/timeouts.js';
import { SETTLE_MS } from '../../streams/registry.js';
import { withTimeout } from '../../timing/with-timeout.js';
import {
  Channel,
  type ChannelInput,
  type Discovered,
  Refusal,
} from '../../wasm/server/bindings.js';
import { eachLine } from './lines.js';
import type { StdioAuthorizeContext } from './stdio-handler.js';

/** How the subscriptions of one connection are wired up. */
export interface SubscriptionsOptions {
  authorize: Authorize<StdioAuthorizeContext> | undefined;
  bus: AttachableBus;
  /** What the server really notifies about, where that need not be asked. */
  capabilities: ListenCapabilities | undefined;
  /** What is known of the server behind; may reject with a `ListenError`. */
  discover: () => Promise<Discovered>;
  limits: Required<ListenLimits> & { lineBytes: number };
  timeouts: Required<ListenTimeouts>;
  onError: (error: Error) => void;
  /** There may be something to write. */
  onNews: () => void;
}

/** The subscriptions of one stdio connection: moves client bytes and what the bus feeds into the core, and its lines out. */
export class Subscriptions implements FanoutSink {
  readonly #options: SubscriptionsOptions;
  readonly #asking: AuthorizeOptions<StdioAuthorizeContext>;
  /** Takes it off the bus that feeds it. */
  #leaveBus: (() => void) | undefined;
  #channel: Channel | undefined;

  constructor(options: SubscriptionsOptions) {
    const { authorize, capabilities, limits, onError, timeouts } = options;
    const { lineBytes, maxSubscriptions } = limits;
    const known = capabilities && JSON.stringify(capabilities);
    this.#options = options;
    this.#asking = { authorize, ms: timeouts.authorizeMs, onError };
    const [bytes, most] = [Math.min(lineBytes, MAX_U32), Math.min(maxSubscriptions, MAX_U32)];
    this.#channel = calling(() => new Channel(coreLimits(limits), bytes, most, known));
  }

  /** Takes bytes of the client; the answer is what the server behind gets of them. */
  receive(bytes: Uint8Array): Uint8Array[] {
    this.#channel?.receive(bytes);
    return this.#takeInputs();
  }

  /** Takes whole lines of the server behind; the answer is what the client gets in their place now. */
  pass(lines: Buffer): Uint8Array | undefined {
    if (this.#channel?.state().awaitsAnswers !== true) return lines;
    const kept = [...eachLine(lines)]
      .map((line) => this.#channel?.serverLine(line))
      .filter((line) => line !== undefined);
    // The client's own lines were taken when they came: what is here now, these answers have led to.
    this.#takeInputs();
    return kept.length > 0 ? Buffer.concat(kept) : undefined;
  }

  /** The next lines for the client. */
  poll(): Uint8Array | undefined {
    return this.#channel?.poll();
  }

  /** Whether answers wait to be written. */
  get hasAnswers(): boolean {
    return this.#channel?.state().hasAnswers === true;
  }

  get streams(): number {
    return this.#channel?.state().subscriptions ?? 0;
  }

  publish(events: string): void {
    this.#channel?.publish(events);
    this.#options.onNews();
  }

  gap(): void {
    this.#channel?.gap(false);
    this.#options.onNews();
  }

  release(): void {
    this.#channel?.close(true);
    this.#options.onNews();
  }

  /** Where there are no subscriptions any more, the bus need not feed them. */
  settle(): void {
    if (this.streams > 0) return;
    this.#leaveBus?.();
    this.#leaveBus = undefined;
  }

  /** Ends all subscriptions gracefully, once the bus has delivered what was published before: all that is left can be polled then. */
  async close(): Promise<void> {
    const { bus } = this.#options;
    try {
      if (bus.settle !== undefined) await withTimeout(SETTLE_MS, bus.settle(), late);
    } catch {
      this.#channel?.gap(true);
    }
    this.#channel?.close(false);
  }

  /** Ends all subscriptions without a word; the answer is what the server behind gets of an unfinished line. */
  end(): Uint8Array {
    const rest = this.#channel?.receive() ?? new Uint8Array();
    this.#channel?.free();
    this.#channel = undefined;
    this.settle();
    return rest;
  }

  /** The core has begun anew, and knows of no subscription: nothing more can be said of any. The core is not called. */
  lapse(): void {
    this.#channel = undefined;
    setImmediate(() => this.settle());
  }

  #takeInputs(): Uint8Array[] {
    const forward: Uint8Array[] = [];
    for (let input = this.#channel?.input(); input !== undefined; input = this.#channel?.input()) {
      const passed = this.#take(input);
      if (passed !== undefined) forward.push(passed);
    }
    return forward;
  }

  #take(input: ChannelInput): Uint8Array | undefined {
    if (input.kind === 'forward') return input.bytes;
    void this.#serve(
      input.number,
      JSON.parse(input.requested) as SubscriptionFilter,
      input.kind === 'watch',
    );
    return undefined;
  }

  async #serve(number: number, requested: SubscriptionFilter, isOfSession: boolean): Promise<void> {
    const { filter, refusal } = await runAuthorize(this.#asking, { requested });
    try {
      if (refusal !== undefined) this.#channel?.refuse(number, refusal);
      else {
        const discovered = isOfSession ? undefined : await this.#options.discover();
        await this.#open(number, filter, discovered);
      }
    } catch (error) {
      this.#options.onError(error as Error);
      this.#channel?.refuse(number, Refusal.Unavailable);
    }
    this.#options.onNews();
  }

  /** Whatever is published after it is open is heard, so the bus has to feed it before that. */
  async #open(
    number: number,
    filter: string | undefined,
    discovered: Discovered | undefined,
  ): Promise<void> {
    const { bus, timeouts } = this.#options;
    if (bus.ready !== undefined)
      await withTimeout(patienceOf(timeouts.attachMs), bus.ready(), notReady);
    if (this.#channel === undefined) return;
    this.#leaveBus ??= this.#follow();
    calling(() => {
      if (discovered === undefined) this.#channel?.watch(number, filter);
      else this.#channel?.open(number, discovered, filter);
    });
  }

  #follow(): () => void {
    const leave = this.#options.bus.feed?.(this);
    if (leave === undefined)
      throw new ListenError('bus-unavailable', 'the bus feeds no streams of this process');
    return leave;
  }
}

function notReady(): ListenError {
  return new ListenError('attach-timeout', 'the bus did not answer in time');
}

function late(): ListenError {
  return new ListenError('bus-lost', 'the bus did not answer in time');
}

/** What the core can count. */
const MAX_U32 = 2 ** 32 - 1;
