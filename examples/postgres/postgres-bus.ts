import {
  type Broker,
  type BrokerBusOptions,
  type BrokerListener,
  brokerBus,
  type ProcessBus,
} from 'mcp-listen';
import { PostgresChannel } from './postgres-channel.ts';

/** A bus over LISTEN and NOTIFY of the Postgres at `url`, for all processes on one channel. */
export function postgresBus(
  url: string,
  channel = 'mcp-listen',
  options: BrokerBusOptions = {},
): ProcessBus {
  return brokerBus(new PostgresBroker(url, channel), options);
}

/**
 * Postgres does not store notifications for a lost connection, so each reconnection is a gap:
 * streams receive one notification for everything that they subscribe to. A publish of more than
 * 7,999 bytes of JSON fails: publish fewer events at once.
 */
class PostgresBroker implements Broker {
  readonly #events: PostgresChannel;
  /** What the option `wanted` sends to other processes. */
  readonly #signals: PostgresChannel;
  #receivedAll = async (): Promise<void> => {};

  constructor(url: string, channel: string) {
    this.#events = new PostgresChannel(url, channel);
    this.#signals = new PostgresChannel(url, `${channel}:wanted`);
  }

  publish(events: string, timeout: AbortSignal): Promise<void> {
    return this.#events.notify(events, timeout);
  }

  follow(listener: BrokerListener, signal: AbortSignal): Promise<void> {
    const onReady = (receivedAll: () => Promise<void>) => {
      listener.onReady(false);
      this.#receivedAll = receivedAll;
    };
    return this.#events.listen((events) => listener.onEvents(events), onReady, signal);
  }

  signal(text: string): Promise<void> {
    return this.#signals.notify(text, AbortSignal.timeout(5_000));
  }

  followSignals(onSignal: (text: string) => void, onReady: () => void, signal: AbortSignal) {
    return this.#signals.listen(onSignal, onReady, signal);
  }

  settle(): Promise<void> {
    return this.#receivedAll();
  }

  async close(): Promise<void> {
    await Promise.all([this.#events.close(), this.#signals.close()]);
  }
}
