import { HOUR_MS, MINUTE_MS } from '../../timing/spans.js';
import type { SubscriptionRow } from '../../wasm/events/bindings.js';
import type {
  Disconnect,
  EventLogMaker,
  SubscribeCall,
  SubscribedWebhook,
  WebhookDelivery,
  WebhookHost,
  WebhookRows,
  WebhookSubscriptions,
} from '../events.js';

/** Starts the delivery to webhooks. */
export type DeliverMaker = NonNullable<EventLogMaker['deliver']>;

/** The log of a bus in memory, as its delivery to webhooks reads it. */
export interface MemoryLogEnd {
  /** The epoch of the log, and its last position. */
  end(): { epoch: string; head: number };
  /** Returns the page for a query, both as text of the core. */
  page(query: string): string;
}

/** The webhooks of a bus in memory: subscriptions end with the process. */
export class MemoryWebhooks implements WebhookSubscriptions {
  readonly #deliver: DeliverMaker;
  readonly #log: MemoryLogEnd;
  readonly #rows = new MemorySubscriptionRows();
  readonly #alarm = new WallTimer(() => void this.#delivery?.alarm().catch(ignored));
  #followed: ReadonlySet<string> = new Set();
  /** Undefined until there is a subscription. */
  #delivery: WebhookDelivery | undefined;
  /** When it last began again, in milliseconds since 1970. */
  #restartedAt = 0;
  #isRestarting = false;

  constructor(deliver: DeliverMaker, log: MemoryLogEnd) {
    this.#deliver = deliver;
    this.#log = log;
  }

  async subscribe(webhook: SubscribeCall): Promise<string> {
    return this.#current.subscribe(webhook);
  }

  async unsubscribe(webhook: SubscribedWebhook): Promise<string> {
    return this.#current.unsubscribe(webhook);
  }

  /** Handles a new occurrence. */
  wake(name: string): void {
    if (!this.#followed.has(name)) return;
    const { epoch, head } = this.#log.end();
    this.#delivery?.wake([name], epoch, head).catch(ignored);
  }

  /** Ends the subscriptions of a caller, also if the core fails meanwhile. */
  disconnect(principal: string): void {
    const now = Date.now();
    const disconnect = { principal, publishedAt: now, at: now };
    // A delivery that cannot begin now reads it when it does.
    this.#rows.keepDisconnect(disconnect);
    this.#disconnect(disconnect).catch(() => {
      // The core that has just failed must not be called in this turn.
      setTimeout(() => void this.#disconnect(disconnect).catch(ignored), 0);
    });
  }

  async #disconnect(disconnect: Disconnect): Promise<void> {
    await this.#current.disconnect(disconnect);
  }

  /** The delivery, which begins if there is none; throws if it fails at once. */
  get #current(): WebhookDelivery {
    this.#delivery ??= this.#deliver(this.#host());
    return this.#delivery;
  }

  #host(): WebhookHost {
    return {
      rows: this.#rows,
      alarmAt: this.#rows.isEmpty ? undefined : Date.now(),
      maxTtlMs: HOUR_MS,
      maxHeld: undefined,
      followed: [],
      // The event types of a process do not change.
      definitions: undefined,
      keepDefinitions: () => {},
      setAlarm: async (at) => this.#alarm.set(at),
      page: async (query) => this.#log.page(query),
      follow: async (names, subscriptions) => {
        this.#followed = new Set(names);
        return { ...this.#log.end(), total: subscriptions };
      },
      reset: () => this.#reset(),
    };
  }

  /** After a failure of the core, a new deliverer continues from the stored rows. */
  #reset(): void {
    this.#delivery = undefined;
    this.#alarm.set(undefined);
    if (this.#rows.isEmpty || this.#isRestarting) return;
    this.#isRestarting = true;
    // The core that has just failed must not be called in this turn.
    const wait = Date.now() - this.#restartedAt < RESTART_MS ? RESTART_MS : 0;
    const timer = setTimeout(() => void this.#restart().catch(ignored), wait);
    (timer as { unref?: () => void }).unref?.();
  }

  async #restart(): Promise<void> {
    this.#isRestarting = false;
    this.#restartedAt = Date.now();
    await this.#current.alarm();
  }
}

class MemorySubscriptionRows implements WebhookRows {
  readonly #rows = new Map<string, string>();
  readonly #watermarks = new Map<string, string>();
  readonly #disconnects = new Map<string, Disconnect>();

  get isEmpty(): boolean {
    return this.#rows.size === 0;
  }

  get disconnects(): Disconnect[] {
    return [...this.#disconnects.values()];
  }

  keepDisconnect(disconnect: Disconnect): void {
    for (const { at, principal } of this.disconnects)
      if (at + MINUTE_MS <= Date.now()) this.#disconnects.delete(principal);
    this.#disconnects.set(disconnect.principal, disconnect);
  }

  subscriptions(): SubscriptionRow[] {
    return [...this.#rows].map(([id, text]) => ({ id, text }));
  }

  put(id: string, text: string): void {
    this.#rows.set(id, text);
  }

  remove(id: string): void {
    this.#rows.delete(id);
  }

  watermarks(): string[] {
    return [...this.#watermarks.values()];
  }

  putWatermark(name: string, text: string): void {
    this.#watermarks.set(name, text);
  }

  removeWatermark(name: string): void {
    this.#watermarks.delete(name);
  }
}

/** A timer for times in milliseconds since 1970, which does not keep the process alive. */
class WallTimer {
  readonly #fire: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(fire: () => void) {
    this.#fire = fire;
  }

  set(at: number | undefined): void {
    clearTimeout(this.#timer);
    if (at === undefined) return;
    // Timers fire early now and then, and the core compares times.
    const wait = Math.min(Math.max(at - Date.now(), 0) + 1, MAX_WAIT_MS);
    this.#timer = setTimeout(this.#fire, wait);
    (this.#timer as { unref?: () => void }).unref?.();
  }
}

/** The delivery has reported the failure, and begun again. */
function ignored(): void {}

/** Milliseconds between two attempts to begin again. */
const RESTART_MS = 1_000;
/** Timers take less than 2^31 milliseconds. The core sets the next one if it fires too early. */
const MAX_WAIT_MS = 86_400_000;
