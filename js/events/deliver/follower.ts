import type { FollowedEvents, WebhookHost } from '../../bus/events.js';
import { busReply } from './bus-reply.js';

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
  /** The last report, which never rejects: reports are made in turn. */
  #last: Promise<unknown> = Promise.resolve();
  /** A report that has not begun. */
  #next: Promise<ReportReply> | undefined;

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
   * Whether the bus has to learn another number of subscriptions now. After a failure that waits
   * until `retryAt`.
   */
  get isOutdated(): boolean {
    if (this.retryAt !== undefined || this.#reported === undefined) return false;
    return this.#reported !== this.#of.subscriptions();
  }

  /** Returns whether the last report has failed; the caller then reports again. */
  takeRetry(): boolean {
    const hasFailed = this.retryAt !== undefined;
    this.retryAt = undefined;
    return hasFailed;
  }

  /** Informs the bus of all that it has to follow. Resolves with whether that succeeded. */
  async update(): Promise<boolean> {
    try {
      await this.#reportInTurn();
      return true;
    } catch {
      // Another caller may have shared the report.
      if (this.retryAt === undefined) {
        this.retryAt = Date.now() + RETRY_MS;
        this.#of.failed();
      }
      return false;
    }
  }

  /**
   * Returns the number of subscriptions at the whole bus, which learns the number here. Those here
   * are counted as of now: calls that end while the bus is asked change their number.
   */
  async total(): Promise<number> {
    const { reported, total } = await this.#reportInTurn();
    return Math.max(total - reported, 0) + this.#of.subscriptions();
  }

  /**
   * Reports once the last report has ended. Callers share a report that has not begun, so a bus
   * that hangs delays each of them by two reports at most.
   */
  #reportInTurn(): Promise<ReportReply> {
    if (this.#next !== undefined) return this.#next;
    const report = this.#last.then(() => {
      this.#next = undefined;
      return this.#report();
    });
    this.#next = report;
    this.#last = report.catch(() => {});
    return report;
  }

  async #report(): Promise<ReportReply> {
    const names = this.#of.names();
    const subscriptions = this.#of.subscriptions();
    const followed = await busReply(this.#host.follow(names, subscriptions));
    const added = names.filter((name) => !this.#followed.has(name));
    this.#followed = new Set(names);
    this.#reported = subscriptions;
    this.retryAt = undefined;
    for (const name of added) this.#of.followed(name, followed.epoch, followed.head);
    return { ...followed, reported: subscriptions };
  }
}

/** The reply of the bus to a report. */
interface ReportReply extends FollowedEvents {
  /** The number of subscriptions that was reported. */
  reported: number;
}

/** Milliseconds until a report to the bus is tried again after a failure. */
const RETRY_MS = 5_000;
