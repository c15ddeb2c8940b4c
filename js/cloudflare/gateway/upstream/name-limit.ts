import { type SubscriptionFilter, union } from '../../../model/filter.js';
import type { CoreEnd } from '../../../model/subscription-error.js';

/**
 * Chooses the names (URIs and task ids) that one subscription requests from a server that refuses
 * some filters: because they have too many names, or because it does not accept one of them. The
 * names of the open subscription stay, whatever else is wanted. Others are added to them a part at
 * a time, in random order, so that no caller decides which ones come first. A name that is refused
 * alone is left out for some minutes. Everything is requested until the server refuses a filter.
 */
export class NameLimit {
  /** The names of the subscription that opened last. */
  #open: ReadonlySet<string> = new Set();
  /** Those of them that the server honors. */
  #honored: ReadonlySet<string> = new Set();
  /** Whether more names are wanted than are requested. */
  #isPartial = false;
  /** How many names the next subscription may add to them. */
  #batch = Number.POSITIVE_INFINITY;
  /** The number of names one of which the server refuses; 0: it is not known to refuse any. */
  #suspects = 0;
  /** Names that were refused alone, and when each may be requested again. */
  readonly #refused = new Map<string, number>();
  /** How many names were refused alone since one was added, or since `widen`. */
  #refusals = 0;
  /** The places of names in the order in which they are requested, from 0 to `LAST`. */
  #ranks = new Map<string, number>();

  /** Whether `partOf` has left out names of the last filter. */
  get isPartial(): boolean {
    return this.#isPartial;
  }

  /** Returns the part of a filter that the next subscription requests. */
  partOf(filter: SubscriptionFilter): SubscriptionFilter {
    this.#isPartial = false;
    if (this.#batch === Number.POSITIVE_INFINITY && this.#refused.size === 0) return filter;
    const all = namesIn(filter);
    const names = all.filter((name) => !this.#refused.has(name));
    this.#ranks = new Map(names.map((name) => [name, this.#rankOf(name)]));
    const count = names.filter((name) => this.#open.has(name)).length + this.#batch;
    this.#isPartial = Math.min(count, names.length) < all.length;
    return withNames(filter, names.sort(by(this.#ranks)).slice(0, count));
  }

  /** Handles that a subscription to `filter` is open. */
  opened(filter: SubscriptionFilter, honored: SubscriptionFilter): void {
    const names = namesIn(filter);
    const added = names.filter((name) => !this.#open.has(name)).length;
    this.#open = new Set(names);
    this.#honored = new Set(namesIn(honored));
    if (added === 0) return;
    this.#refusals = 0;
    this.#suspects = Math.max(0, this.#suspects - added);
    this.#batch = this.#suspects > 0 ? half(this.#suspects) : Math.max(1, this.#batch * 2);
  }

  /**
   * Handles the refusal of a filter at `now`. Returns whether the server may accept a subscription
   * to fewer names.
   */
  refuse(filter: SubscriptionFilter, now: number): boolean {
    const names = namesIn(filter);
    const added = names.filter((name) => !this.#open.has(name));
    if (names.length === 0) return false;
    if (added.length > 0) {
      this.#narrow(added, now);
      return true;
    }
    // The server does not accept any more what it has accepted, so each of these names is new.
    this.#open = new Set();
    this.#ranks = new Map(names.map((name) => [name, FIRST]));
    this.#narrow(names, now);
    return true;
  }

  /** Lets further names be requested at `now`, as is done once a minute. */
  widen(now: number): void {
    for (const [name, until] of this.#refused) if (until <= now) this.#refused.delete(name);
    this.#refusals = 0;
    this.#batch = Math.max(1, this.#batch);
    if (!this.#isPartial) return;
    // What the server does not honor gives its place to other names.
    const idle = [...this.#open].filter((name) => !this.#honored.has(name));
    for (const name of idle) this.#ranks.set(name, LAST);
    this.#open = this.#honored;
  }

  /** Requests a part of these names next; none, for a while, if many were refused alone. */
  #narrow(names: readonly string[], now: number): void {
    const [only = ''] = names;
    if (names.length > 1) {
      this.#suspects = names.length;
      this.#batch = half(names.length);
      return;
    }
    this.#refused.set(only, now + REFUSED_MS);
    const [oldest] = this.#refused.keys();
    if (this.#refused.size > MAX_REFUSED && oldest !== undefined) this.#refused.delete(oldest);
    this.#suspects = 0;
    this.#refusals += 1;
    this.#batch = this.#refusals < MAX_REFUSALS ? 1 : 0;
  }

  #rankOf(name: string): number {
    return this.#open.has(name) ? FIRST : (this.#ranks.get(name) ?? Math.random());
  }
}

/** Whether the server may accept a subscription to fewer names. */
export function isOfTooMany({ rpcCode, status }: CoreEnd): boolean {
  return status === CONTENT_TOO_LARGE || rpcCode === INVALID_PARAMS;
}

/** Returns the names in a filter, each with its kind. */
function namesIn({ resourceSubscriptions = [], taskIds = [] }: SubscriptionFilter): string[] {
  return [...resourceSubscriptions.map((uri) => URI + uri), ...taskIds.map((id) => TASK + id)];
}

/** Replaces the names in a filter. */
function withNames(filter: SubscriptionFilter, names: readonly string[]): SubscriptionFilter {
  const { resourceSubscriptions: _uris, taskIds: _tasks, ...lists } = filter;
  const of = (kind: string) =>
    names.filter((name) => name.startsWith(kind)).map((name) => name.slice(kind.length));
  return union(lists, { resourceSubscriptions: of(URI), taskIds: of(TASK) });
}

function by(ranks: ReadonlyMap<string, number>): (one: string, other: string) => number {
  return (one, other) => (ranks.get(one) ?? LAST) - (ranks.get(other) ?? LAST);
}

function half(number: number): number {
  return Math.max(1, Math.floor(number / 2));
}

const URI = 'uri ';
const TASK = 'task ';
/** The rank of names that stay, and that of names that others may replace. */
const FIRST = 0;
const LAST = 1;
/** Milliseconds for which a name is left out after the server has refused it. */
const REFUSED_MS = 300_000;
/** Maximum number of names that are left out. */
const MAX_REFUSED = 1_000;
/** Number of refusals of single names after which none is added until `widen`. */
const MAX_REFUSALS = 8;
const CONTENT_TOO_LARGE = 413;
/** The JSON-RPC error of a server that limits the names in a filter. */
const INVALID_PARAMS = -32_602;
