import type { CallerContext } from '../auth/authorize.js';
import { callerId, siteId } from '../auth/caller-id.js';
import type { ServerStream } from '../bus/server-stream.js';
import type { ListenLimits } from '../model/limits.js';
import { DelayQueue } from '../timing/delay-queue.js';
import { MINUTE_MS } from '../timing/spans.js';
import { Refusal } from '../wasm/server/bindings.js';

/**
 * The share of the quota that one stream uses: its caller, if it can be distinguished from others,
 * whether the server itself reads it, and the bytes of its names.
 */
export interface QuotaShare {
  readonly caller: string | undefined;
  /** The IPv6 /48 of a caller without a name. */
  readonly site: string | undefined;
  readonly isInner: boolean;
  /** Whether the caller has a name. */
  readonly isNamed: boolean;
  readonly names: number;
}

/**
 * Counts how many streams each caller holds or is opening, and the bytes of the names of all
 * streams. A caller is identified by the name that `principal` returns, or by the address that the
 * host reports. The callers without a name of an IPv6 /48 also count together.
 *
 * A part of the bytes is reserved, so that each stream has a small room regardless of the others.
 * The remainder is for streams that need more; the streams of one caller together can use a limited
 * share of the total.
 */
export class PrincipalQuota {
  readonly #limits: Required<ListenLimits>;
  /** Bytes that are reserved for each stream. */
  readonly #reservedBytes: number;
  /** Bytes that all streams share beyond their reserved ones. */
  readonly #sharedBytes: number;
  readonly #maxPerCaller: number;
  /** Streams of an IPv6 /48, and the bytes of their names. */
  readonly #maxPerSite: { readonly streams: number; readonly names: number };
  readonly #used = new Map<string, Used>();
  /**
   * The shares of streams that are opening. They expire, because Workers may stop without running
   * `catch` or `finally` when the client disconnects.
   */
  readonly #opening = new DelayQueue<QuotaShare>(MINUTE_MS);
  readonly #shares = new WeakMap<ServerStream, QuotaShare>();
  #large = 0;

  constructor(limits: Required<ListenLimits>) {
    const { maxSubscriptions, namesBytes } = limits;
    this.#limits = limits;
    this.#reservedBytes = Math.min(
      MAX_RESERVED_BYTES,
      Math.floor(namesBytes / 2 / Math.max(1, maxSubscriptions)),
    );
    this.#sharedBytes = namesBytes - this.#reservedBytes * maxSubscriptions;
    this.#maxPerCaller = Math.max(this.#reservedBytes, Math.floor(namesBytes / CALLER_PARTS));
    const streams = Math.floor(maxSubscriptions / SITE_PARTS.streams);
    this.#maxPerSite = {
      streams: Math.max(limits.maxSubscriptionsPerAddress, streams),
      names: Math.max(this.#reservedBytes, Math.floor(namesBytes / SITE_PARTS.names)),
    };
  }

  /** The number of streams that are opening. */
  get opening(): number {
    this.#expire();
    return this.#opening.size;
  }

  /**
   * Returns the share of a stream that a caller wants to open, whose names count `names` bytes.
   * Streams that the server itself reads (`isInner`) and others do not count together; who reads
   * them limits those of callers with a name.
   */
  shareOf(context: CallerContext, names: number, isInner: boolean): QuotaShare {
    const caller = callerId(context);
    const site = caller === undefined ? undefined : siteId(context);
    return { caller, site, isInner, isNamed: context.principal !== undefined, names };
  }

  /** Returns why a stream with this share cannot be opened now; undefined if it can. */
  refusal(share: QuotaShare): Refusal | undefined {
    this.#expire();
    const { caller, isInner, names, site } = share;
    const max = { streams: this.#max(share), names: this.#maxPerCaller };
    if (
      this.#isOver(caller, max, names, isInner) ||
      this.#isOver(site, this.#maxPerSite, names, isInner)
    )
      return Refusal.TooManyOfCaller;
    const excess = this.#excess(names);
    return excess > 0 && this.#large + excess > this.#sharedBytes
      ? Refusal.TooManyStreams
      : undefined;
  }

  /** Returns how many streams the caller with this name holds or is opening. */
  streamsOf(principal: string): number {
    this.#expire();
    const { inner, streams } = this.#used.get(`principal ${principal}`) ?? UNUSED;
    return inner + streams;
  }

  /** Counts a stream that is opening. */
  reserve(share: QuotaShare): void {
    this.#opening.add(share, Date.now());
    this.#count(share, 1);
  }

  /** Releases the share of a stream that was not opened. */
  free(share: QuotaShare): void {
    if (this.#opening.delete(share)) this.#count(share, -1);
  }

  /** Assigns the share to an open stream. */
  assign(stream: ServerStream, share: QuotaShare): void {
    const hasExpired = !this.#opening.delete(share);
    if (hasExpired) this.#count(share, 1);
    this.#shares.set(stream, share);
  }

  /** Handles the end of a stream. */
  release(stream: ServerStream): void {
    const share = this.#shares.get(stream);
    if (share !== undefined && this.#shares.delete(stream)) this.#count(share, -1);
  }

  /** Whether one more stream would be too many for a caller or a site. */
  #isOver(
    id: string | undefined,
    max: { streams: number; names: number },
    names: number,
    isInner: boolean,
  ): boolean {
    if (id === undefined) return false;
    const used = this.#used.get(id) ?? UNUSED;
    const streams = isInner ? used.inner : used.streams;
    return streams >= max.streams || (names > 0 && used.names + names > max.names);
  }

  #max({ isInner, isNamed }: QuotaShare): number {
    if (!isNamed) return this.#limits.maxSubscriptionsPerAddress;
    return isInner ? Number.POSITIVE_INFINITY : this.#limits.maxSubscriptionsPerPrincipal;
  }

  #excess(names: number): number {
    return Math.max(0, names - this.#reservedBytes);
  }

  #expire(): void {
    for (const share of this.#opening.take(Date.now())) this.#count(share, -1);
  }

  /** Adds `streams`, 1 or -1, streams with this share. */
  #count({ caller, isInner, names, site }: QuotaShare, streams: 1 | -1): void {
    this.#large += streams * this.#excess(names);
    for (const id of [caller, site]) {
      if (id === undefined) continue;
      const used = this.#used.get(id) ?? { ...UNUSED };
      used[isInner ? 'inner' : 'streams'] += streams;
      used.names += streams * names;
      if (used.inner + used.streams > 0) this.#used.set(id, used);
      else this.#used.delete(id);
    }
  }
}

/** What a caller uses. `inner`: streams that the server itself reads; `streams`: all others. */
interface Used {
  streams: number;
  inner: number;
  names: number;
}

const UNUSED: Readonly<Used> = { streams: 0, inner: 0, names: 0 };

/** Bytes reserved for each stream, unless that takes more than half of the total. */
const MAX_RESERVED_BYTES = 4_096;
/** The streams of one caller may together use the total divided by this number. */
const CALLER_PARTS = 8;
/** The streams of an IPv6 /48 may use the total of streams, and that of bytes, divided by these. */
const SITE_PARTS = { streams: 4, names: 2 };
