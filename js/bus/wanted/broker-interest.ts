import { ListenError } from '../../model/error.js';
import { keepTrying } from '../../timing/keep-trying.js';
import type { Broker } from '../broker/broker.js';
import { ProcessInterest, type ProcessInterestOptions } from './process-interest.js';

/** What the streams of the processes that share a broker subscribe to. */
export class BrokerInterest extends ProcessInterest {
  readonly #broker: Broker;

  /** @throws ListenError `invalid-options`. */
  constructor(broker: Broker, options: ProcessInterestOptions) {
    if (broker.signal === undefined || broker.followSignals === undefined)
      throw new ListenError('invalid-options', 'wanted needs a broker that has signals');
    // A signal that is lost is detected, and sent again.
    super({ ...options, signal: async (text) => broker.signal?.(text).catch(() => {}) });
    this.#broker = broker;
  }

  /** Follows the signals of the other processes until `signal` aborts. */
  follow(signal: AbortSignal): void {
    const { peers } = this;
    const follow = async (): Promise<void> =>
      this.#broker.followSignals?.(
        (text) => peers?.receive(text),
        () => peers?.join(),
        signal,
      );
    // `follow` of the broker has lost it, too, and reports that.
    void keepTrying(follow, signal, () => {});
  }
}
