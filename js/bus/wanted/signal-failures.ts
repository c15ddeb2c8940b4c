import { ListenError } from '../../model/error.js';

/** Failures of signals in one direction. Reports those that last while the broker is available. */
export class SignalFailures {
  readonly #context: SignalContext;
  readonly #message: string;
  /** When the first of the present failures was, on the clock of `performance.now()`. */
  #since: number | undefined;
  #isReported = false;

  constructor(context: SignalContext, message: string) {
    this.#context = context;
    this.#message = message;
  }

  /** Handles a failure. One during an outage of the broker does not count: the bus reports that. */
  add(cause: unknown): void {
    const { isLive, onError } = this.#context;
    if (!isLive()) {
      this.clear();
      return;
    }
    const now = performance.now();
    this.#since ??= now;
    if (this.#isReported || now - this.#since < LASTING_MS) return;
    this.#isReported = true;
    onError(new ListenError('bus-unavailable', this.#message, { cause }));
  }

  /** Handles that signals arrive again. */
  clear(): void {
    this.#since = undefined;
    this.#isReported = false;
  }
}

/** What {@link SignalFailures} need of a bus. */
export interface SignalContext {
  /** Whether the bus receives everything. */
  isLive: () => boolean;
  onError: (error: Error) => void;
}

/** Milliseconds for which signals fail before that is reported. */
const LASTING_MS = 2_000;
