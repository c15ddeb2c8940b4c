import type { SessionKeys, SessionRows, SessionTotals } from '../../wasm/server/bindings.js';

/** Sessions in the memory of one process. */
export class MemorySessionTable implements SessionRows {
  readonly #rows = new Map<string, Row>();
  /** Session ids by caller, for callers with a name or an address. */
  readonly #callers = new Map<string, Set<string>>();
  readonly #releases = new Set<string>();

  get(id: string): string | undefined {
    return this.#rows.get(id)?.session;
  }

  put(id: string, session: string, { caller, ...keys }: SessionKeys): void {
    const uris = this.#rows.get(id)?.uris ?? new Set();
    this.#rows.set(id, { session, caller, ...keys, uris });
    if (caller !== undefined)
      this.#callers.set(caller, (this.#callers.get(caller) ?? new Set()).add(id));
  }

  remove(id: string): void {
    const caller = this.#rows.get(id)?.caller;
    this.#rows.delete(id);
    const own = caller === undefined ? undefined : this.#callers.get(caller);
    own?.delete(id);
    if (caller !== undefined && own?.size === 0) this.#callers.delete(caller);
  }

  subscriptions(id: string): string[] {
    return [...(this.#rows.get(id)?.uris ?? [])];
  }

  isSubscribed(id: string, uri: string): boolean {
    return this.#rows.get(id)?.uris.has(uri) === true;
  }

  subscribe(id: string, uri: string): void {
    this.#rows.get(id)?.uris.add(uri);
  }

  unsubscribe(id: string, uri: string): void {
    this.#rows.get(id)?.uris.delete(uri);
  }

  ofCaller(caller: string): string[] {
    return [...(this.#callers.get(caller) ?? [])];
  }

  ended(now: number): string[] {
    return [...this.#rows].flatMap(([id, { endsAt }]) => (endsAt < now ? id : []));
  }

  atShard(number: number): string[] {
    return [...this.#rows].flatMap(([id, { shard }]) => (shard === number ? id : []));
  }

  keepRelease(text: string): void {
    this.#releases.add(text);
  }

  forgetRelease(text: string): void {
    this.#releases.delete(text);
  }

  releases(): string[] {
    return [...this.#releases];
  }

  totals(): { named: SessionTotals; unnamed: SessionTotals } {
    const totals = { named: { sessions: 0, bytes: 0 }, unnamed: { sessions: 0, bytes: 0 } };
    for (const { isNamed, uriBytes } of this.#rows.values()) {
      const sum = isNamed ? totals.named : totals.unnamed;
      sum.sessions += 1;
      sum.bytes += uriBytes;
    }
    return totals;
  }
}

interface Row extends SessionKeys {
  session: string;
  uris: Set<string>;
}
