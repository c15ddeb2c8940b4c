import type { AttachmentListener, BusConnection } from '../../bus/attachable-bus.js';
import { isBusy, ListenError } from '../../model/error.js';
import type { ServerEvent } from '../../model/event.js';
import { DeadlineTimer } from '../../timing/deadline-timer.js';
import { deferred } from '../../timing/deferred.js';
import { Listener } from '../../wasm/server/bindings.js';
import { ignoringTrap, onReset, RESTART_COOLDOWN_MS } from '../../wasm/server/guard.js';
import { Attachment } from './attachment.js';

/** How a {@link BusSubscriber} reaches its bus, and its callbacks. */
export interface BusSubscriberOptions {
  /** Opens a connection and sends `frame` first. */
  connect(frame: string, link: AttachmentListener): BusConnection;
  onEvent: (event: ServerEvent) => void;
  /** Called when events may have been missed, and with the error of an `onEvent` that throws. */
  onError: (error: Error) => void;
}

/**
 * Receives every event of a bus. After the bus was lost, receives the latest missed event of each
 * topic.
 */
export class BusSubscriber {
  readonly #options: BusSubscriberOptions;
  #listener = new Listener(ATTACH_MS);
  readonly #timer = new DeadlineTimer(() => this.#tick());
  readonly #line: Attachment;
  readonly #leaveCore: () => void;
  #lapsed = deferred();
  /** Whether the core was reset and has no listener for this subscriber yet. */
  #isLapsed = false;
  #recalledAt = Number.NEGATIVE_INFINITY;
  #isOver = false;

  constructor(options: BusSubscriberOptions) {
    this.#options = options;
    this.#line = new Attachment({
      connect: options.connect,
      receive: (frame) => this.#unlessLapsed(() => this.#receive(frame)),
      lost: (error) => this.#unlessLapsed(() => this.#lose(error)),
    });
    this.#tend();
    this.#leaveCore = onReset(() => {
      this.#isLapsed = true;
      this.#lapsed.resolve();
    });
    this.#awaitLapse();
  }

  /** Unsubscribes; may be called twice. */
  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#leaveCore();
    this.#timer.clear();
    ignoringTrap(() => this.#line.leave());
    this.#listener.free();
  }

  #receive(frame: string): void {
    const { deadline, events, hasMissed } = this.#listener.receive(frame, performance.now());
    this.#timer.arm(deadline);
    if (hasMissed)
      this.#options.onError(new ListenError('bus-lost', 'a listener may have missed events'));
    for (const event of events) this.#tell(JSON.parse(event) as ServerEvent);
  }

  #tell(event: ServerEvent): void {
    try {
      this.#options.onEvent(event);
    } catch (error) {
      this.#options.onError(error as Error);
    }
  }

  #lose(error: Error): void {
    const isOverloaded = error instanceof ListenError && isBusy(error.code);
    this.#timer.arm(this.#listener.lose(performance.now(), Math.random(), isOverloaded));
  }

  #unlessLapsed(action: () => void): void {
    if (!this.#isLapsed) ignoringTrap(action);
  }

  /** Waits for the next reset of the core, and handles it in the context of the subscriber. */
  #awaitLapse(): void {
    this.#lapsed = deferred();
    void this.#lapsed.promise.then(() => this.#recall());
  }

  /**
   * Attaches again after a reset of the core; after the cooldown if the last restart was recent.
   */
  #recall(): void {
    if (this.#isOver) return;
    this.#awaitLapse();
    const now = performance.now();
    this.#timer.clear();
    if (now - this.#recalledAt > RESTART_COOLDOWN_MS) this.#beginAnew(now);
    if (this.#isLapsed) this.#timer.arm(this.#recalledAt + RESTART_COOLDOWN_MS + 1);
  }

  #beginAnew(now: number): void {
    this.#recalledAt = now;
    ignoringTrap(() => {
      this.#listener = new Listener(ATTACH_MS);
      this.#isLapsed = false;
      this.#tend();
    });
    this.#options.onError(new ListenError('bus-lost', 'a listener may have missed events'));
  }

  #tick(): void {
    if (this.#isLapsed) this.#recall();
    else this.#tend();
  }

  #tend(): void {
    const deadline = this.#line.tend(this.#listener);
    if (!this.#isOver) this.#timer.arm(deadline);
  }
}

/** Milliseconds within which the bus has to confirm an attach. */
const ATTACH_MS = 5_000;
