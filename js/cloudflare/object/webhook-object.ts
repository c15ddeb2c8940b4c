import type {
  EventLogMaker,
  FollowedEvents,
  WebhookDelivery,
  WebhookHost,
} from '../../bus/events.js';
import { ListenError } from '../../model/error.js';
import type { BusStats } from '../../model/stats/bus.js';
import { report } from '../../observe/on-error.js';
import type { WebhookAddress } from '../wire/names.js';
import { type BusNamespace, type BusStub, busStub } from '../wire/stubs.js';
import { disconnectsIn, type WakeCall } from '../wire/webhooks.js';
import { setAlarm } from './alarm.js';
import { inOwnContext } from './own-context.js';
import { ownNamespace } from './own-namespace.js';
import { WebhookTable } from './tables/webhooks.js';

/**
 * An object that delivers the occurrences of a bus to the webhooks of some callers. It holds no
 * streams, and hibernates while no message is due.
 */
export class WebhookObject {
  /** It has no streams. */
  readonly attached = 0;
  readonly #ctx: DurableObjectState;
  readonly #address: WebhookAddress;
  readonly #namespace: BusNamespace | undefined;
  readonly #events: EventLogMaker | undefined;
  readonly #table: WebhookTable;
  /** The number of the last call of the bus. */
  #lastCall = 0;
  /** Whether it has reported that its class delivers to no webhooks. */
  #hasReported = false;
  /** Undefined until the first call. */
  #delivery: Promise<WebhookDelivery | undefined> | undefined;

  constructor(
    ctx: DurableObjectState,
    env: unknown,
    address: WebhookAddress,
    events: EventLogMaker | undefined,
  ) {
    this.#ctx = ctx;
    this.#address = address;
    this.#namespace = ownNamespace(ctx, env);
    this.#events = events;
    this.#table = new WebhookTable(ctx.storage.sql);
  }

  /** Handles a request to subscribe, as JSON text. */
  async subscribe(webhook: string): Promise<string> {
    const delivery = await this.#started();
    return delivery === undefined ? this.#unavailable() : delivery.subscribe(JSON.parse(webhook));
  }

  /** Handles a request to unsubscribe, as JSON text. */
  async unsubscribe(webhook: string): Promise<string> {
    const delivery = await this.#started();
    return delivery === undefined ? this.#unavailable() : delivery.unsubscribe(JSON.parse(webhook));
  }

  /** Handles a call of the bus. Resolves once it need not be repeated. */
  async wake(call: string): Promise<void> {
    const wake = JSON.parse(call) as WakeCall;
    const { epoch, head, names } = wake;
    const disconnects = disconnectsIn(wake, Date.now());
    const delivery = await this.#started();
    for (const disconnect of disconnects) await delivery?.disconnect(disconnect);
    if (names.length > 0) await delivery?.wake(names, epoch, head);
  }

  /** Handles the alarm. It never rejects: the platform gives an alarm up that fails repeatedly. */
  async alarm(): Promise<void> {
    try {
      await (await this.#started(Date.now()))?.alarm();
    } catch (error) {
      report(error as Error);
      await setAlarm(this.#ctx.storage, Date.now() + RETRY_MS);
    }
  }

  /** Refuses the socket of an edge. */
  accept(): Response {
    return new Response(null, { status: 410 });
  }

  /** There are no sockets. */
  receive(): void {}

  /** There are no sockets. */
  closed(): void {}

  /** Returns counters. It has no streams, sessions and shards. */
  async stats(): Promise<BusStats> {
    const deliveries = (await this.#started())?.stats;
    const none = { attached: 0, sockets: 0, position: 0, sessions: 0, dropped: 0, shards: [] };
    return { ...none, webhooks: deliveries?.subscriptions, deliveries };
  }

  /** Starts the delivery; undefined if the class has none. `alarmAt`: see `WebhookHost`. */
  #started(alarmAt?: number): Promise<WebhookDelivery | undefined> {
    this.#delivery ??= this.#start(alarmAt).catch((error: Error) => {
      this.#delivery = undefined;
      throw error;
    });
    return this.#delivery;
  }

  /** Refuses a call, and reports once why: the client learns nothing about the class. */
  #unavailable(): string {
    if (!this.#hasReported) {
      const missing = 'static events = eventLog({ webhooks: events })';
      report(new ListenError('events-unavailable', `the class of the bus lacks ${missing}`));
    }
    this.#hasReported = true;
    return UNAVAILABLE;
  }

  async #start(alarmAt: number | undefined): Promise<WebhookDelivery | undefined> {
    const { storage } = this.#ctx;
    const at = alarmAt ?? (await storage.getAlarm()) ?? undefined;
    return this.#events?.deliver?.(this.#host(at));
  }

  #host(alarmAt: number | undefined): WebhookHost {
    const { storage } = this.#ctx;
    return {
      rows: this.#table,
      alarmAt,
      maxTtlMs: undefined,
      maxHeld: MAX_HELD,
      followed: this.#table.followed.names,
      definitions: this.#table.definitions,
      keepDefinitions: (definitions) => this.#table.setDefinitions(definitions),
      setAlarm: (at) => (at === undefined ? storage.deleteAlarm() : setAlarm(storage, at)),
      page: async (query) => this.#root.readEvents(query),
      follow: (names, subscriptions) => this.#follow(names, subscriptions),
      // A trap of the core in another object ends this delivery too.
      reset: inOwnContext(() => this.#ctx.abort('the delivery to webhooks failed')),
    };
  }

  async #follow(names: readonly string[], subscriptions: number): Promise<FollowedEvents> {
    const former = this.#table.followed;
    this.#lastCall = Math.max(Date.now(), former.call + 1, this.#lastCall + 1);
    const call = this.#lastCall;
    // What is stored must never be more than the bus follows.
    const kept = former.names.filter((name) => names.includes(name));
    if (kept.length < former.names.length) this.#table.setFollowed(call, kept);
    const text = JSON.stringify({ object: this.#address.object, call, names, subscriptions });
    const reply = JSON.parse(await this.#root.followWebhooks(text)) as FollowedEvents;
    // A reply that arrives late must not undo a later call.
    const isLast = call === this.#lastCall;
    if (isLast && kept.length < names.length) this.#table.setFollowed(call, names);
    return reply;
  }

  /** Returns a fresh stub for each call, because a stub that failed once may keep failing. */
  get #root(): BusStub {
    if (this.#namespace === undefined) throw new Error('the namespace of the bus is unknown');
    return busStub(this.#namespace, this.#address.bus);
  }
}

const UNAVAILABLE = JSON.stringify({ error: { internal: 'webhooks' } });
/** Milliseconds until the alarm is tried again after a failure. */
const RETRY_MS = 5_000;
/** The largest number of subscriptions of an object. */
const MAX_HELD = 500;
