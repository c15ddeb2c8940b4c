import { type Authorize, type Authorizing, permitOf } from '../authorize.js';
import type { ListenBus } from '../bus/bus.js';
import { deferred } from '../deferred.js';
import { calling, ListenError } from '../error.js';
import type { SubscriptionFilter } from '../filter.js';
import type { DEFAULT_LIMITS, ListenLimits } from '../limits.js';
import { Channel, type ChannelInput, type Discovered, Refusal } from '../wasm.js';
import { Registration } from './registration.js';
import type { StdioAuthorizeContext } from './stdio.js';

/** How the subscriptions of one connection are wired up. */
export interface SubscriptionsOptions {
  authorize: Authorize<StdioAuthorizeContext> | undefined;
  bus: ListenBus;
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
  readonly #done = deferred();
  #channel: Channel | undefined;
  #isClosing = false;

  constructor(options: SubscriptionsOptions) {
    const { authorize, limits, onerror } = options;
    const { lineBytes, streams } = limits;
    this.#options = options;
    this.#asking = { authorize, ms: limits.authorizeMs, onerror };
    this.#channel = calling(() => new Channel(limits, Math.min(lineBytes, MOST), Math.min(streams, MOST)));
  }

  /** Takes bytes of the client; the answer is what the server behind gets of them. */
  receive(bytes: Uint8Array): Uint8Array[] {
    const forward: Uint8Array[] = [];
    this.#channel?.receive(bytes);
    for (let input = this.#channel?.input(); input !== undefined; input = this.#channel?.input()) {
      const passed = this.#take(input);
      if (passed !== undefined) forward.push(passed);
    }
    return forward;
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
    if (this.#isClosing && this.#channel?.subscriptions === 0 && !this.hasAnswers) this.#done.resolve();
  }

  /** Ends all subscriptions gracefully; resolves when the last result was polled, or nothing can be any more. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#channel?.close();
    this.#options.onnews();
    await this.#done.promise;
  }

  /** Ends all subscriptions without a word; the answer is what the server behind gets of an unfinished line. */
  end(): Uint8Array {
    const rest = this.#channel?.finish() ?? new Uint8Array();
    this.settle();
    this.#channel?.free();
    this.#channel = undefined;
    this.#done.resolve();
    return rest;
  }

  #take(input: ChannelInput): Uint8Array | undefined {
    const { forward, number, requested } = input;
    input.free();
    if (number !== undefined) void this.#listen(number, JSON.parse(requested ?? '{}') as SubscriptionFilter);
    return forward;
  }

  async #listen(number: number, requested: SubscriptionFilter): Promise<void> {
    const { filter, refusal } = await permitOf(this.#asking, { requested });
    try {
      if (refusal === undefined) this.#open(number, await this.#options.discover(), filter);
      else this.#channel?.refuse(number, refusal);
    } catch (error) {
      this.#options.onerror(error as Error);
      this.#channel?.refuse(number, Refusal.Unavailable);
    }
    this.#options.onnews();
  }

  #open(number: number, discovered: Discovered, filter: string | undefined): void {
    const honored = calling(() => this.#channel?.open(number, discovered, filter));
    if (honored === undefined) return;
    const registration = new Registration();
    this.#registrations.set(number, registration);
    const link = {
      receive: (frame: string) => this.#receiveFrame(number, frame),
      lost: (error: Error) => this.#lose(number, error),
    };
    registration.attach(
      this.#options.bus,
      JSON.parse(honored) as SubscriptionFilter,
      link,
      this.#options.limits.attachMs,
    );
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
    if (this.#channel?.isOpening(number) === true) this.#options.onerror(error);
    this.#channel?.lose(number);
    this.#options.onnews();
  }
}

/** What the core can count. */
const MOST = 2 ** 32 - 1;
