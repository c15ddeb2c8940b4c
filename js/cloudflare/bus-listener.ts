import type { BusLink } from '../bus/bus.js';
import { BusLine, type LineAttachment } from '../bus/bus-line.js';
import { DeadlineTimer } from '../deadline-timer.js';
import { ListenError } from '../error.js';
import type { ServerEvent } from '../event.js';
import { Listener } from '../wasm.js';

/** How a listener attaches and whom it tells. */
export interface ListenerOptions {
  attach(link: BusLink, since: string | undefined): LineAttachment;
  onevent: (event: ServerEvent) => void;
  /** Told where events may have been missed, and of an `onevent` that throws. */
  onerror: (error: Error) => void;
}

/** Hears every event of a bus, and what it missed when the bus was lost: of that, the last event of each subject. */
export class BusListener {
  readonly #options: ListenerOptions;
  readonly #listener = new Listener(ATTACH_MS);
  readonly #timer = new DeadlineTimer(() => this.#tick());
  readonly #line: BusLine;
  #resyncs = 0;
  #isOver = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#line = new BusLine({
      attach: options.attach,
      receive: (frame) => this.#receive(frame),
      lost: (error) => this.#lose(error),
    });
    this.#tend();
  }

  /** Hears no more; may be called twice. */
  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timer.clear();
    this.#line.leave();
    this.#listener.free();
  }

  #receive(frame: string): void {
    const event = this.#listener.receive(frame, performance.now());
    const { resyncs } = this.#listener;
    const hasMissed = resyncs > this.#resyncs;
    this.#resyncs = resyncs;
    this.#timer.arm(this.#listener.deadline);
    if (hasMissed) this.#options.onerror(new ListenError('bus-lost', 'a listener may have missed events'));
    if (event !== undefined) this.#tell(JSON.parse(event) as ServerEvent);
  }

  #tell(event: ServerEvent): void {
    try {
      this.#options.onevent(event);
    } catch (error) {
      this.#options.onerror(error as Error);
    }
  }

  #lose(error: Error): void {
    const isOverloaded = error instanceof ListenError && error.code === 'bus-overloaded';
    this.#listener.lose(performance.now(), Math.random(), isOverloaded);
    this.#timer.arm(this.#listener.deadline);
  }

  #tick(): void {
    this.#listener.timeout(performance.now(), Math.random());
    this.#tend();
  }

  #tend(): void {
    this.#line.tend(this.#listener);
    if (!this.#isOver) this.#timer.arm(this.#listener.deadline);
  }
}

/** Milliseconds that the bus may take to confirm. */
const ATTACH_MS = 5_000;
