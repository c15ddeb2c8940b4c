import { MINUTE_MS } from '../../../timing/spans.js';
import { TtlCache } from '../ttl-cache.js';

/** The requests for a name in a minute. */
interface Spent {
  /** The digests of the credentials that make up the name. */
  readonly keys: readonly string[];
  since: number;
  probes: number;
}

/**
 * Limits how many requests with a part of its credentials each named caller causes in a minute.
 * They count for the credentials of its name together, since others may have one of these too.
 * Credentials are given as digests.
 */
export class ProbeBudget {
  /** By the digest of a credential, the latest name that has it. */
  readonly #names = new TtlCache<Spent>(10 * MINUTE_MS, 10_000);
  /** By all digests of a name, so that its count goes on after another name with some of them. */
  readonly #spent = new TtlCache<Spent>(10 * MINUTE_MS, 10_000);

  /** Counts a request for a caller with these credentials. Returns false for one too many. */
  admits(sent: readonly string[]): boolean {
    const now = Date.now();
    let isAdmitted = true;
    for (const spent of this.#namesIn(sent)) {
      if (now - spent.since >= MINUTE_MS) Object.assign(spent, { since: now, probes: 0 });
      spent.probes += 1;
      isAdmitted &&= spent.probes <= MAX_PROBES;
    }
    return isAdmitted;
  }

  /** Remembers that these credentials make up a name. */
  remember(keys: readonly string[]): void {
    const name = keys.toSorted().join(' ');
    const spent = this.#spent.get(name) ?? { keys, since: Date.now(), probes: 0 };
    this.#spent.set(name, spent);
    for (const key of keys) this.#names.set(key, spent);
  }

  /** Returns the names all of whose credentials are among these. */
  #namesIn(sent: readonly string[]): Spent[] {
    const names = new Set(sent.map((key) => this.#names.get(key)));
    return [...names].filter(
      (name) => name?.keys.every((key) => sent.includes(key)) === true,
    ) as Spent[];
  }
}

/** Maximum probes for one name in a minute; each has up to three requests. */
const MAX_PROBES = 300;
