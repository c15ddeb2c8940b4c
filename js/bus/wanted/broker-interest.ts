import { ListenError } from '../../model/error.js';
import { keepTrying } from '../../timing/keep-trying.js';
import type { Broker } from '../broker/broker.js';
import { ProcessInterest, type ProcessInterestOptions } from './process-interest.js';
import { type SignalContext, SignalFailures } from './signal-failures.js';

/**
 * What the streams of the processes that share a broker subscribe to. Processes exchange signals
 * about it: by the broker's own way of sending them, or as lines among its events.
 */
export class BrokerInterest extends ProcessInterest {
  readonly #broker: Broker;
  readonly #failures: SignalFailures;

  /** @throws ListenError `invalid-options`. */
  constructor(broker: Broker, options: ProcessInterestOptions & SignalContext) {
    if ((broker.signal === undefined) !== (broker.followSignals === undefined))
      throw new ListenError(
        'invalid-options',
        'a broker has both signal and followSignals, or neither',
      );
    const send = hasSignals(broker)
      ? (text: string) => broker.signal(text)
      : (text: string) => broker.publish(SIGNAL + text, AbortSignal.timeout(SIGNAL_MS));
    const failures = new SignalFailures(options, UNSENT);
    const signal = async (text: string): Promise<void> => {
      try {
        await send(text);
        failures.clear();
      } catch (error) {
        // A signal that is lost is detected, and sent again.
        failures.add(error);
      }
    };
    super({ ...options, signal });
    this.#broker = broker;
    this.#failures = new SignalFailures(options, UNRECEIVED);
  }

  /** Follows the signals of the other processes until `signal` aborts. */
  follow(signal: AbortSignal): void {
    const broker = this.#broker;
    if (!hasSignals(broker)) return;
    const { peers } = this;
    const follow = (): Promise<void> =>
      broker.followSignals(
        (text) => peers?.receive(text),
        () => {
          this.#failures.clear();
          peers?.join();
        },
        signal,
      );
    void keepTrying(follow, signal, (cause) => this.#failures.add(cause));
  }

  /** Handles that every later event is received, and with the events the signals. */
  handleReady(): void {
    if (!hasSignals(this.#broker)) this.peers?.join();
  }

  /** Handles a signal among the events. */
  receive(line: string): void {
    this.peers?.receive(line.slice(SIGNAL.length));
  }
}

/** Whether a line of a broker is a signal and no event. */
export function isSignal(line: string): boolean {
  return line.startsWith(SIGNAL);
}

function hasSignals(
  broker: Broker,
): broker is Broker & Required<Pick<Broker, 'signal' | 'followSignals'>> {
  return broker.signal !== undefined && broker.followSignals !== undefined;
}

/** How a signal among events begins. An event is a JSON object. */
const SIGNAL = 'signal:';
/** Milliseconds after which a signal must not be sent any more. */
const SIGNAL_MS = 5_000;
const UNSENT = 'the broker takes no signals about what the streams of this process subscribe to';
const UNRECEIVED = 'the broker sends no signals about what the streams of others subscribe to';
