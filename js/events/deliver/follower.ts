import type { FollowedEvents, WebhookHost } from '../../bus/events.js';

/** What a {@link Follower} reports to the bus, and what it does with the response. */
export interface Following {
  /** The event types that have subscriptions. */
  names(): string[];
  /** The number of subscriptions. */
  subscriptions(): number;
  /** The bus follows another event type, and its log ends at `head`. */
  followed(name: string, epoch: string, head: number): void;
  /** The bus could not be reached: `retryAt` has changed. */
  failed(): void;
}

/** Keeps the bus informed of the event types for which it has to wake the delivery. */
export class Follower {
  /** When to try again, in milliseconds since 1970. */
  retryAt: number | undefined;
  readonly #host: WebhookHost;
  readonly #of: Following;
  /** What the bus has confirmed. */
  #followed: ReadonlySet<string>;
  /** The number of subscriptions that the bus knows; undefined: what it was before a restart. */
  #reported: number | undefined;
  /** The number of subscriptions that are being made. */
  #reserved = 0;
  /** The last call of the bus, which never rejects: calls are made in turn. */
  #last: Promise<unknown> = Promise.resolve();
  /** An update that has not begun. */
  #next: Promise<boolean> | undefined;

  constructor(host: WebhookHost, of: Following) {
    this.#host = host;
    this.#of = of;
    this.#followed = new Set(host.followed);
  }

  /** Whether the bus has confirmed every event type. */
  get isComplete(): boolean {
    return this.#of.names().every((name) => this.#followed.has(name));
  }

  /**
   * Whether the bus has to learn another number of subscriptions. While some are being made, it may
   * have a higher one.
   */
  get isOutdated(): boolean {
    if (this.#reported === undefined) return false;
    const subscriptions = this.#of.subscriptions();
    return this.#reserved > 0 ? this.#reported < subscriptions : this.#reported !== subscriptions;
  }

  /** Informs the bus of all that it has to follow. Resolves with whether that succeeded. */
  update(): Promise<boolean> {
    this.#next ??= this.#inTurn(() => {
      this.#next = undefined;
      return this.#updated();
    });
    return this.#next;
  }

  /**
   * Makes a subscription, which the bus counts before it is made: calls elsewhere must not take its
   * place. `make` gets the number at the whole bus without those that are being made here. Those
   * here are counted as of now: calls that end while the bus is asked change their number.
   *
   * @throws any error of the bus and of `make`.
   */
  async reserving<T>(make: (total: number) => Promise<T>): Promise<T> {
    this.#reserved += 1;
    try {
      const { reported, total } = await this.#inTurn(() => this.#report());
      return await make(Math.max(total - reported, 0) + this.#of.subscriptions());
    } finally {
      this.#reserved -= 1;
      if (this.isOutdated) void this.update();
    }
  }

  #inTurn<T>(action: () => Promise<T>): Promise<T> {
    const done = this.#last.then(action);
    this.#last = done.catch(() => {});
    return done;
  }

  async #updated(): Promise<boolean> {
    try {
      await this.#report();
      this.retryAt = undefined;
      return true;
    } catch {
      this.retryAt = Date.now() + RETRY_MS;
      this.#of.failed();
      return false;
    }
  }

  async #report(): Promise<FollowedEvents & { reported: number }> {
    const names = this.#of.names();
    const subscriptions = this.#of.subscriptions() + this.#reserved;
    const followed = await this.#host.follow(names, subscriptions);
    const added = names.filter((name) => !this.#followed.has(name));
    this.#followed = new Set(names);
    this.#reported = subscriptions;
    for (const name of added) this.#of.followed(name, followed.epoch, followed.head);
    return { ...followed, reported: subscriptions };
  }
}

const RETRY_MS = 5_000;
