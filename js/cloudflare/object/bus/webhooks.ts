import type { FollowedEvents } from '../../../bus/events.js';
import { withTimeout } from '../../../timing/with-timeout.js';
import { type BusNamespace, webhookStub } from '../../wire/stubs.js';
import {
  type FollowCall,
  type PendingDisconnect,
  type WakeCall,
  webhookObjectOf,
} from '../../wire/webhooks.js';
import type { AlarmScheduler } from '../alarm.js';
import type { EventLog } from '../tables/event-log.js';
import {
  type Follow,
  type WebhookFollower,
  WebhookFollowers,
} from '../tables/webhook-followers.js';

/**
 * The objects that deliver the occurrences of a bus to webhooks. What an object has to learn is
 * stored with the publish, and is repeated until the object has confirmed it.
 */
export class RootWebhooks {
  readonly #storage: DurableObjectStorage;
  readonly #log: EventLog;
  readonly #alarm: AlarmScheduler;
  readonly #bus: string;
  readonly #namespace: BusNamespace | undefined;
  readonly #table: WebhookFollowers;
  readonly #objects = new Map<number, FollowerState>();
  /** Whether a timer is set that calls objects. */
  #isWaking = false;

  /** @param bus - the name of the bus. */
  constructor(
    storage: DurableObjectStorage,
    log: EventLog,
    alarm: AlarmScheduler,
    bus: string,
    namespace: BusNamespace | undefined,
  ) {
    this.#storage = storage;
    this.#log = log;
    this.#alarm = alarm;
    this.#bus = bus;
    this.#namespace = namespace;
    this.#table = new WebhookFollowers(storage.sql);
    for (const row of this.#table.rows) this.#objects.set(row.object, restored(row));
    this.#ensureAlarm();
  }

  /** Handles a call of an object that states what it follows. */
  follow(follow: FollowCall): FollowedEvents {
    const { call, names, object, subscriptions } = follow;
    const known = this.#objects.get(object);
    if (known === undefined || known.call < call) {
      // A call that changes nothing is not worth a write.
      if (known === undefined || !isSame(known, follow)) this.#table.follow(follow);
      const follower = known ?? followerOf(follow);
      this.#objects.set(object, follower);
      follower.call = call;
      follower.names = new Set(names);
      follower.subscriptions = subscriptions;
    }
    this.#ensureAlarm();
    return { ...this.#end, total: this.total };
  }

  /**
   * Stores that occurrences of these event types were published, and that these callers were
   * disconnected at a time, for the objects that have to learn it.
   */
  enqueue(names: readonly string[], disconnected: readonly string[], now: number): void {
    for (const principal of disconnected)
      this.#disconnect(webhookObjectOf(principal), { principal, publishedAt: now });
    const following: FollowerState[] = [];
    for (const follower of this.#objects.values()) {
      const followed = names.filter((name) => follower.names.has(name));
      for (const name of followed) follower.pending.add(name);
      if (followed.length > 0) following.push(follower);
    }
    if (following.length > 0) this.#store(following);
  }

  /** Calls the objects that have to learn something, once the publisher has its reply. */
  wakeSoon(): void {
    if (this.#isWaking || !this.#hasPendingWakes) return;
    this.#isWaking = true;
    setTimeout(() => {
      this.#isWaking = false;
      this.wake();
    }, 0);
  }

  /** Calls the objects that have to learn something. */
  wake(): void {
    for (const [object, follower] of this.#objects)
      if (hasPendingWake(follower) && !follower.isBusy) void this.#call(object, follower);
  }

  /** Handles the alarm. Returns whether an object has not confirmed everything yet. */
  settle(): boolean {
    this.wake();
    const followers = [...this.#objects.values()];
    const isOpen = (follower: FollowerState): boolean =>
      follower.isBusy || hasPendingWake(follower);
    const confirmed = followers.filter((follower) => follower.isStored && !isOpen(follower));
    this.#setStored(confirmed, false);
    return followers.some(isOpen);
  }

  /** The epoch of the log, and its last position. */
  get #end(): { epoch: string; head: number } {
    return { epoch: this.#log.epoch, head: this.#log.position };
  }

  /** The number of subscriptions of all objects. */
  get total(): number {
    const followers = [...this.#objects.values()];
    return followers.reduce((sum, { subscriptions }) => sum + subscriptions, 0);
  }

  get #hasPendingWakes(): boolean {
    return [...this.#objects.values()].some(hasPendingWake);
  }

  /** Sets the alarm for the objects that have to learn something: it may have been lost. */
  #ensureAlarm(): void {
    if (this.#hasPendingWakes) this.#alarm.wakeWithWrite(Date.now() + SETTLE_MS);
  }

  /** An object without subscriptions has to learn it too: a call that adds one may be under way. */
  #disconnect(object: number, disconnect: PendingDisconnect): void {
    const follower = this.#objects.get(object) ?? this.#added(object);
    follower.disconnects.set(disconnect.principal, disconnect.publishedAt);
    this.#table.disconnect(object, disconnect);
    this.#store([follower]);
  }

  #added(object: number): FollowerState {
    const row = { object, call: 0, names: [], subscriptions: 0 };
    this.#table.follow(row);
    const follower = followerOf(row);
    this.#objects.set(object, follower);
    return follower;
  }

  #store(followers: readonly FollowerState[]): void {
    const unstored = followers.filter(({ isStored }) => !isStored);
    this.#setStored(unstored, true);
    this.#alarm.wakeWithWrite(Date.now() + SETTLE_MS);
  }

  #setStored(followers: readonly FollowerState[], isStored: boolean): void {
    if (followers.length === 0) return;
    const objects = followers.map(({ object }) => object);
    this.#table.setPendingWake(objects, isStored);
    for (const follower of followers) follower.isStored = isStored;
  }

  /** Wakes an object. The next publish or the alarm repeats a call that fails. */
  async #call(object: number, follower: FollowerState): Promise<void> {
    const names = [...follower.pending];
    const disconnects = new Map(follower.disconnects);
    follower.pending.clear();
    follower.disconnects.clear();
    follower.isBusy = true;
    const isConfirmed = await this.#isConfirmed(object, names, disconnects);
    follower.isBusy = false;
    if (isConfirmed) {
      const learned = [...disconnects.keys()];
      const over = learned.filter((principal) => !follower.disconnects.has(principal));
      if (over.length > 0) this.#table.disconnected(object, over);
      this.wake();
    } else {
      for (const name of names) follower.pending.add(name);
      follower.disconnects = new Map([...disconnects, ...follower.disconnects]);
    }
  }

  async #isConfirmed(
    object: number,
    names: string[],
    disconnects: ReadonlyMap<string, number>,
  ): Promise<boolean> {
    const [namespace, bus] = [this.#namespace, this.#bus];
    if (namespace === undefined) return false;
    try {
      // The runtime holds the call back until all writes are on disk: `sentAt` is after that.
      await this.#storage.sync();
      const call: WakeCall = {
        names,
        ...this.#end,
        disconnects: [...disconnects].map(([principal, publishedAt]) => ({
          principal,
          publishedAt,
        })),
        sentAt: Date.now(),
      };
      const woken = webhookStub(namespace, { bus, object }).wakeWebhooks(JSON.stringify(call));
      await withTimeout(WAKE_MS, woken, late);
      return true;
    } catch {
      // An object that restarts, is unavailable or does not reply is called again.
      return false;
    }
  }
}

/** What an object follows, and what it has yet to learn. */
interface FollowerState {
  /** Its number. */
  object: number;
  /** The number of its last call. */
  call: number;
  names: ReadonlySet<string>;
  subscriptions: number;
  /** The event types for which it has to be woken. */
  pending: Set<string>;
  /** The callers whose subscriptions it has to end, and when they were disconnected. */
  disconnects: Map<string, number>;
  /** Whether it is being called. */
  isBusy: boolean;
  /** Whether it is stored that it has to learn something. */
  isStored: boolean;
}

function hasPendingWake({ disconnects, pending }: FollowerState): boolean {
  return pending.size > 0 || disconnects.size > 0;
}

function isSame(known: FollowerState, { names, subscriptions }: FollowCall): boolean {
  const hasSameNames =
    names.length === known.names.size && names.every((name) => known.names.has(name));
  return hasSameNames && subscriptions === known.subscriptions;
}

function followerOf({ call, names, object, subscriptions }: Follow): FollowerState {
  return {
    object,
    call,
    names: new Set(names),
    subscriptions,
    pending: new Set(),
    disconnects: new Map(),
    isBusy: false,
    isStored: false,
  };
}

/** The stored row does not say which event types are pending, so all of them are. */
function restored(row: WebhookFollower): FollowerState {
  const { disconnects, hasPendingWake: isPending, names } = row;
  return {
    ...followerOf(row),
    pending: new Set(isPending ? names : []),
    disconnects: new Map(disconnects),
    isStored: isPending,
  };
}

function late(): Error {
  return new Error('the object did not reply in time');
}

/** Milliseconds within which an object has to confirm a call. */
const WAKE_MS = 10_000;
/** Milliseconds after a publish until confirmations are stored, once for all in between. */
const SETTLE_MS = 1_000;
