import type { ServerEvent } from '../model/event.js';
import type {
  AttachableBus,
  AttachmentListener,
  BusConnection,
  FanoutSink,
} from './attachable-bus.js';
import type { ListenBus, ServerEventBus } from './bus.js';
import { eventText } from './event-text.js';
import { InMemoryBus } from './memory/bus.js';
import type { SessionStore } from './session-store.js';

/**
 * Adapts a bus to which no stream can attach, such as one written for the official SDK. The bus
 * delivers every event, and each stream filters.
 */
export class ServerEventBusAdapter implements AttachableBus {
  readonly #bus: ListenBus | ServerEventBus;
  readonly #onError: (error: Error) => void;
  /** Holds the sessions, and the log from which their streams resume. */
  readonly #local: InMemoryBus;

  constructor(bus: ListenBus | ServerEventBus, onError: (error: Error) => void) {
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

  connect(frame: string, listener: AttachmentListener): BusConnection {
    return this.#local.connect(frame, listener);
  }

  subscribeAll(sink: FanoutSink): () => void {
    const unsubscribe = this.#bus.subscribe((event) =>
      this.#pass(event, (text) => sink.publish(text)),
    );
    return () => this.#detach(unsubscribe);
  }

  async #forward(events: ServerEvent[]): Promise<void> {
    for (const event of events) eventText(event);
    const bus = this.#bus;
    await ('publishAll' in bus
      ? bus.publishAll(events)
      : Promise.all(events.map((event) => bus.publish(event))));
  }

  #pass(event: ServerEvent, receive: (text: string) => void): void {
    try {
      receive(eventText(event));
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

/**
 * A log of another bus. It follows that bus when the first session begins, because earlier events
 * concern no session.
 */
class FollowingBus extends InMemoryBus {
  readonly #bus: ListenBus | ServerEventBus;
  #isFollowing = false;

  constructor(bus: ListenBus | ServerEventBus, onError: (error: Error) => void) {
    super({ onError });
    this.#bus = bus;
  }

  protected override retainEvents(): void {
    if (!this.#isFollowing) this.#bus.subscribe((event) => void this.publish(event));
    this.#isFollowing = true;
  }
}

/** Returns the bus, wrapped in an adapter if streams cannot attach to it. */
export function toAttachableBus(
  bus: ListenBus | ServerEventBus,
  onError: (error: Error) => void,
): AttachableBus {
  return isAttachable(bus) ? bus : new ServerEventBusAdapter(bus, onError);
}

function isAttachable(bus: ListenBus | ServerEventBus): bus is AttachableBus {
  return 'publishAll' in bus && ('subscribeAll' in bus || 'openStream' in bus);
}
