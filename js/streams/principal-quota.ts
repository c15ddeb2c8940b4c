import type { CallerContext } from '../auth/authorize.js';
import type { ServerStream } from '../bus/server-stream.js';
import type { ListenLimits } from '../model/limits.js';
import { Refusal } from '../wasm/server/bindings.js';
import { addressOf } from '../web/client-address.js';

/**
 * The share of the quota that one stream uses: its caller, if it can be distinguished from others,
 * and the bytes of its names.
 */
export interface Seat {
  readonly caller: string | undefined;
  readonly names: number;
}

/**
 * Counts how many streams each caller holds or is opening, and the bytes of the names of all
 * streams. A caller is identified by the name that `principal` returns, or by the address that the
 * host reports.
 *
 * A part of the bytes is reserved, so that each stream has a small room regardless of the others.
 * The remainder is for streams that need more; the streams of one caller together can use a limited
 * share of the total.
 */
export class PrincipalQuota {
  readonly #limits: Required<ListenLimits>;
  /** Bytes that are reserved for each stream. */
  readonly #base: number;
  /** Bytes that all streams share beyond their reserved ones. */
  readonly #common: number;
  readonly #share: number;
  readonly #held = new Map<string, { streams: number; names: number }>();
  readonly #seats = new WeakMap<ServerStream, Seat>();
  #large = 0;

  constructor(limits: Required<ListenLimits>) {
    const { maxSubscriptions, namesBytes } = limits;
    this.#limits = limits;
    this.#base = Math.min(SMALL, Math.floor(namesBytes / 2 / Math.max(1, maxSubscriptions)));
    this.#common = namesBytes - this.#base * maxSubscriptions;
    this.#share = Math.max(this.#base, Math.floor(namesBytes / SHARES));
  }

  /**
   * Returns why the caller cannot open another stream now, whose names count `names` bytes;
   * undefined if it can.
   */
  refusal(asker: CallerContext, names: number): Refusal | undefined {
    const { maxSubscriptionsPerAddress, maxSubscriptionsPerPrincipal } = this.#limits;
    const caller = callerOf(asker);
    if (caller !== undefined) {
      const held = this.#held.get(caller) ?? { streams: 0, names: 0 };
      const most =
        asker.principal === undefined ? maxSubscriptionsPerAddress : maxSubscriptionsPerPrincipal;
      const isBeyond = held.streams >= most || (names > 0 && held.names + names > this.#share);
      if (isBeyond) return Refusal.TooManyOfCaller;
    }
    const beyond = this.#beyond(names);
    return beyond > 0 && this.#large + beyond > this.#common ? Refusal.TooManyStreams : undefined;
  }

  /** Counts a stream that is opening. */
  enter(asker: CallerContext, names: number): Seat {
    const seat = { caller: callerOf(asker), names };
    this.#large += this.#beyond(names);
    if (seat.caller !== undefined) this.#count(seat.caller, 1, names);
    return seat;
  }

  /** Releases the seat of a stream that was not opened or has ended. */
  leave({ caller, names }: Seat): void {
    this.#large -= this.#beyond(names);
    if (caller !== undefined) this.#count(caller, -1, -names);
  }

  /** Assigns the seat to an open stream. */
  hold(stream: ServerStream, seat: Seat): void {
    this.#seats.set(stream, seat);
  }

  /** Handles the end of a stream. */
  release(stream: ServerStream): void {
    const seat = this.#seats.get(stream);
    if (seat !== undefined && this.#seats.delete(stream)) this.leave(seat);
  }

  #beyond(names: number): number {
    return Math.max(0, names - this.#base);
  }

  #count(caller: string, streams: number, names: number): void {
    const held = this.#held.get(caller) ?? { streams: 0, names: 0 };
    held.streams += streams;
    held.names += names;
    if (held.streams > 0) this.#held.set(caller, held);
    else this.#held.delete(caller);
  }
}

function callerOf({ principal, request }: CallerContext): string | undefined {
  if (principal !== undefined) return `principal ${principal}`;
  const address = addressOf(request);
  return address === undefined ? undefined : `address ${address}`;
}

/** Bytes reserved for each stream, unless that takes more than half of the total. */
const SMALL = 4_096;
/** The streams of one caller may together use the total divided by this number. */
const SHARES = 8;
