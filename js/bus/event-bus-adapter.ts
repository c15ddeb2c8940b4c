import type { ServerEvent } from '../model/event.js';
import type { AttachmentListener, BusConnection, FanoutSink, ListenBus, ServerEventBus } from './bus.js';
import { eventText } from './event-text.js';
import { InMemoryBus } from './memory/memory-bus.js';
import type { SessionStore } from './session-store.js';

/** A bus written for the official SDK: it delivers everything, and each stream filters by itself. */
export class ServerEventBusAdapter implements ListenBus {
  readonly #bus: ServerEventBus;
  readonly #onError: (error: Error) => void;
  /** Holds the sessions, and the log that their streams come back to. */
  readonly #local: InMemoryBus;

  constructor(bus: ServerEventBus, onError: (error: Error) => void) {
    this.#bus = bus;
    this.#onError = onError;
    this.#local = new FollowingBus(bus, onError);
  }

  publish(event: ServerEvent): Promise<void> {
    return this.publishAll([event]);
  }

  publishAll(events: ServerEvent[]): Promise<void> {
    const published = this.#forward(events);
    published.catch(this.#onError);
    return published;
  }

  subscribe<Known extends ServerEvent>(listener: (event: Known) => void): () => void {
    return this.#bus.subscribe(listener as (event: ServerEvent) => void);
  }

  /** Sessions of clients of earlier revisions, in this process only. */
  get sessions(): SessionStore {
    return this.#local.sessions;
  }

  connect(frame: string, link: AttachmentListener): BusConnection {
    return this.#local.connect(frame, link);
  }

  feed(feed: FanoutSink): () => void {
    const unsubscribe = this.#bus.subscribe((event) => this.#tell(event, (text) => feed.publish(text)));
    return () => this.#detach(unsubscribe);
  }

  async #forward(events: ServerEvent[]): Promise<void> {
    for (const event of events) eventText(event);
    await Promise.all(events.map((event) => this.#bus.publish(event)));
  }

  #tell(event: ServerEvent, told: (text: string) => void): void {
    try {
      told(eventText(event));
    } catch (error) {
      this.#onError(error as Error);
    }
  }

  #detach(unsubscribe: () => void): void {
    try {
      unsubscribe();
    } catch (error) {
      this.#onError(error as Error);
    }
  }
}

/** The log of another bus, from the first place on that is told of it: no session began before that. */
class FollowingBus extends InMemoryBus {
  readonly #bus: ServerEventBus;
  #isFollowing = false;

  constructor(bus: ServerEventBus, onError: (error: Error) => void) {
    super({ onError });
    this.#bus = bus;
  }

  protected override heed(): void {
    if (!this.#isFollowing) this.#bus.subscribe((event) => void this.publish(event));
    this.#isFollowing = true;
  }
}

/** The bus as it is where it filters by itself, and wrapped where it does not. */
export function toListenBus(bus: ListenBus | ServerEventBus, onError: (error: Error) => void): ListenBus {
  return 'publishAll' in bus ? bus : new ServerEventBusAdapter(bus, onError);
}
