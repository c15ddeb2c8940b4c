import type { CallerContext } from '../auth/authorize.js';
import type { ServerStream } from '../bus/server-stream.js';
import type { ListenLimits } from '../model/limits.js';
import { Refusal } from '../wasm/server/bindings.js';
import { addressOf } from '../web/client-address.js';

/** What one stream counts for: its caller, if that is told apart from others, and the bytes of its names. */
export interface Seat {
  readonly caller: string | undefined;
  readonly names: number;
}

/**
 * How many streams each caller holds, or is about to, and how many bytes the names of all of them count. A caller is
 * who `principal` names, or else the address that the host tells.
 *
 * A part of the bytes is kept back, so that each stream finds a small room whatever the others hold. The rest is for
 * streams that need more, up to a share of the whole for the streams of one caller together.
 */
export class PrincipalQuota {
  readonly #limits: Required<ListenLimits>;
  /** What each stream may hold in any case. */
  readonly #base: number;
  /** What all streams may hold together beyond that. */
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

  /** Why a caller cannot have one more stream now, the names of which count so many bytes. */
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

  /** A caller is about to have one more. */
  enter(asker: CallerContext, names: number): Seat {
    const seat = { caller: callerOf(asker), names };
    this.#large += this.#beyond(names);
    if (seat.caller !== undefined) this.#count(seat.caller, 1, names);
    return seat;
  }

  /** Nothing has become of it. */
  leave({ caller, names }: Seat): void {
    this.#large -= this.#beyond(names);
    if (caller !== undefined) this.#count(caller, -1, -names);
  }

  /** It is open. */
  hold(stream: ServerStream, seat: Seat): void {
    this.#seats.set(stream, seat);
  }

  /** A stream has ended. */
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

/** Bytes that each stream may hold in any case, where half of the whole suffices for that. */
const SMALL = 4_096;
/** The streams of one caller may hold one part of so many together. */
const SHARES = 8;
