import { atMost } from '../at-most.js';
import { type Authorize, type Authorizing, permitOf } from '../authorize.js';
import type { ListenBus } from '../bus/bus.js';
import type { ListenCapabilities } from '../discover.js';
import { calling, ListenError } from '../error.js';
import type { SubscriptionFilter } from '../filter.js';
import type { DEFAULT_LIMITS, ListenLimits } from '../limits.js';
import { SETTLE_MS } from '../streams.js';
import { Channel, type ChannelInput, type Discovered, Refusal } from '../wasm.js';
import { Registration } from './registration.js';
import type { StdioAuthorizeContext } from './stdio.js';
import { eachLine } from './whole-lines.js';

/** How the subscriptions of one connection are wired up. */
export interface SubscriptionsOptions {
  authorize: Authorize<StdioAuthorizeContext> | undefined;
  bus: ListenBus;
  /** What the server really notifies about, where that need not be asked. */
  capabilities: ListenCapabilities | undefined;
  /** What is known of the server behind; may reject with a `ListenError`. */
  discover: () => Promise<Discovered>;
  limits: typeof DEFAULT_LIMITS & ListenLimits & { lineBytes: number };
  onerror: (error: Error) => void;
  /** There may be something to write. */
  onnews: () => void;
}

/** The subscriptions of one stdio connection: moves client bytes and bus frames into the core, and its lines out. */
export class Subscriptions {
  readonly #options: SubscriptionsOptions;
  readonly #asking: Authorizing<StdioAuthorizeContext>;
  readonly #registrations = new Map<number, Registration>();
  #channel: Channel | undefined;

  constructor(options: SubscriptionsOptions) {
    const { authorize, capabilities, limits, onerror } = options;
    const { lineBytes, streams } = limits;
    const known = capabilities && JSON.stringify(capabilities);
    this.#options = options;
    this.#asking = { authorize, ms: limits.authorizeMs, onerror };
    const [bytes, most] = [Math.min(lineBytes, MOST), Math.min(streams, MOST)];
    this.#channel = calling(() => new Channel(JSON.stringify(limits), bytes, most, known));
  }

  /** Takes bytes of the client; the answer is what the server behind gets of them. */
  receive(bytes: Uint8Array): Uint8Array[] {
    this.#channel?.receive(bytes);
    return this.#takeInputs();
  }

  /** Takes whole lines of the server behind; the answer is what the client gets in their place now. */
  pass(lines: Buffer): Uint8Array | undefined {
    if (this.#channel?.awaitsAnswers !== true) return lines;
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
    return this.#channel?.hasAnswers === true;
  }

  /** Gives up the places of subscriptions that have ended. */
  settle(): void {
    for (let number = this.#channel?.ended(); number !== undefined; number = this.#channel?.ended()) {
      this.#registrations.get(number)?.release();
      this.#registrations.delete(number);
    }
  }

  /** Ends all subscriptions gracefully, once the bus has delivered what was published before: all that is left can be polled then. */
  async close(): Promise<void> {
    const { bus } = this.#options;
    try {
      if (bus.settle !== undefined) await atMost(SETTLE_MS, bus.settle(), late);
    } catch {
      this.#channel?.doubt();
    }
    this.#channel?.close();
  }

  /** Ends all subscriptions without a word; the answer is what the server behind gets of an unfinished line. */
  end(): Uint8Array {
    const rest = this.#channel?.finish() ?? new Uint8Array();
    this.settle();
    this.#channel?.free();
    this.#channel = undefined;
    return rest;
  }

  /** The core has begun anew, and knows of no subscription: nothing more can be said of any. The core is not called. */
  lapse(): void {
    this.#channel = undefined;
    const registrations = [...this.#registrations.values()];
    this.#registrations.clear();
    setImmediate(() => {
      for (const registration of registrations) registration.release();
    });
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
    const { forward, isOfSession, number, requested } = input;
    input.free();
    if (number !== undefined) {
      void this.#serve(number, JSON.parse(requested ?? '{}') as SubscriptionFilter, isOfSession);
    }
    return forward;
  }

  async #serve(number: number, requested: SubscriptionFilter, isOfSession: boolean): Promise<void> {
    const { filter, refusal } = await permitOf(this.#asking, { requested });
    try {
      if (refusal !== undefined) this.#channel?.refuse(number, refusal);
      else this.#register(number, isOfSession ? this.#watch(number, filter) : await this.#open(number, filter));
    } catch (error) {
      this.#options.onerror(error as Error);
      this.#channel?.refuse(number, Refusal.Unavailable);
    }
    this.#options.onnews();
  }

  #watch(number: number, filter: string | undefined): string | undefined {
    return calling(() => this.#channel?.watch(number, filter));
  }

  async #open(number: number, filter: string | undefined): Promise<string | undefined> {
    const discovered = await this.#options.discover();
    return calling(() => this.#channel?.open(number, discovered, filter));
  }

  #register(number: number, honored: string | undefined): void {
    if (honored === undefined) return;
    const { bus, limits } = this.#options;
    const registration = new Registration();
    this.#registrations.set(number, registration);
    const link = {
      receive: (frame: string) => this.#receiveFrame(number, frame),
      lost: (error: Error) => this.#lose(number, error),
    };
    registration.attach(bus, JSON.parse(honored) as SubscriptionFilter, link, limits.attachMs);
  }

  #receiveFrame(number: number, frame: string): void {
    const dropped = this.#channel?.receiveFrame(number, frame);
    if (dropped !== undefined) {
      this.#options.onerror(new ListenError('bus-frame-dropped', `a bus frame was dropped: ${dropped}`));
    }
    if (this.#channel?.isOpening(number) === false) this.#registrations.get(number)?.confirm();
    this.#options.onnews();
  }

  #lose(number: number, error: Error): void {
    const isOpening = this.#channel?.isOpening(number) === true;
    const again = this.#channel?.lose(number);
    if (isOpening || again !== undefined) this.#options.onerror(error);
    if (again !== undefined) this.#registerAgain(number, again);
    this.#options.onnews();
  }

  /** The client of a session cannot be told that it hears nothing any more: it must not come to that. */
  #registerAgain(number: number, honored: string): void {
    this.#registrations.get(number)?.release();
    const waiting = new Registration();
    this.#registrations.set(number, waiting);
    waiting.later(() => {
      try {
        this.#register(number, honored);
      } catch (error) {
        this.#lose(number, error as Error);
      }
    }, AGAIN_MS);
  }
}

function late(): ListenError {
  return new ListenError('bus-lost', 'the bus did not answer in time');
}

/** Milliseconds from the loss of a bus to the next attempt. */
const AGAIN_MS = 1_000;
/** What the core can count. */
const MOST = 2 ** 32 - 1;
