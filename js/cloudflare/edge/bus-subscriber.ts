import type { AttachmentListener, BusConnection } from '../../bus/attachable-bus.js';
import { isBusy, ListenError } from '../../model/error.js';
import type { ServerEvent } from '../../model/event.js';
import { DeadlineTimer } from '../../timing/deadline-timer.js';
import { deferred } from '../../timing/deferred.js';
import { BusFollower } from '../../wasm/server/bindings.js';
import { ignoringTrap, onReset, RESTART_COOLDOWN_MS } from '../../wasm/server/guard.js';
import { Attachment } from './attachment.js';

/** How a {@link BusSubscriber} reaches its bus, and its callbacks. */
export interface BusSubscriberOptions {
  /** Opens a connection and sends `frame` first. */
  connect(frame: string, listener: AttachmentListener): BusConnection;
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
  #follower = new BusFollower(ATTACH_MS);
  readonly #timer = new DeadlineTimer(() => this.#tick());
  readonly #attachment: Attachment;
  readonly #removeResetListener: () => void;
  #reset = deferred();
  /** Whether the core was reset and has no follower for this subscriber yet. */
  #wasReset = false;
  #restartedAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(options: BusSubscriberOptions) {
    this.#options = options;
    this.#attachment = new Attachment({
      connect: options.connect,
      onFrame: (frame) => this.#unlessReset(() => this.#receive(frame)),
      onLost: (error) => this.#unlessReset(() => this.#handleLost(error)),
    });
    this.#service();
    this.#removeResetListener = onReset(() => {
      this.#wasReset = true;
      this.#reset.resolve();
    });
    this.#awaitReset();
  }

  /** Unsubscribes; may be called twice. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#removeResetListener();
    this.#timer.clear();
    ignoringTrap(() => this.#attachment.close());
    this.#follower.free();
  }

  #receive(frame: string): void {
    const { deadline, events, hasMissed } = this.#follower.receive(frame, performance.now());
    this.#timer.arm(deadline);
    if (hasMissed)
      this.#options.onError(new ListenError('bus-lost', 'a listener may have missed events'));
    for (const event of events) this.#emit(JSON.parse(event) as ServerEvent);
  }

  #emit(event: ServerEvent): void {
    try {
      this.#options.onEvent(event);
    } catch (error) {
      this.#options.onError(error as Error);
    }
  }

  #handleLost(error: Error): void {
    const isOverloaded = error instanceof ListenError && isBusy(error.code);
    this.#timer.arm(this.#follower.lose(performance.now(), Math.random(), isOverloaded));
  }

  #unlessReset(action: () => void): void {
    if (!this.#wasReset) ignoringTrap(action);
  }

  /** Waits for the next reset of the core, and handles it in the context of the subscriber. */
  #awaitReset(): void {
    this.#reset = deferred();
    void this.#reset.promise.then(() => this.#restart());
  }

  /**
   * Attaches again after a reset of the core; after the cooldown if the last restart was recent.
   */
  #restart(): void {
    if (this.#isClosed) return;
    this.#awaitReset();
    const now = performance.now();
    this.#timer.clear();
    if (now - this.#restartedAt > RESTART_COOLDOWN_MS) this.#recreate(now);
    if (this.#wasReset) this.#timer.arm(this.#restartedAt + RESTART_COOLDOWN_MS + 1);
  }

  #recreate(now: number): void {
    this.#restartedAt = now;
    ignoringTrap(() => {
      this.#follower = new BusFollower(ATTACH_MS);
      this.#wasReset = false;
      this.#service();
    });
    this.#options.onError(new ListenError('bus-lost', 'a listener may have missed events'));
  }

  #tick(): void {
    if (this.#wasReset) this.#restart();
    else this.#service();
  }

  #service(): void {
    const deadline = this.#attachment.service(this.#follower);
    if (!this.#isClosed) this.#timer.arm(deadline);
  }
}

/** Milliseconds within which the bus has to confirm an attach. */
const ATTACH_MS = 5_000;
