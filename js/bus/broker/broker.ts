import type { BrokerLog } from './log.js';

/**
 * Carries events between processes: the part of a bus that depends on the broker. `brokerBus`
 * creates a bus from it, calls {@link Broker.follow} again after a loss, and delivers the events to
 * the streams of this process.
 *
 * @example
 * ```ts
 * class ChannelBroker implements Broker {
 *   #channel = new BroadcastChannel('notebook');
 *   #listener?: BrokerListener;
 *
 *   async publish(events: string) {
 *     this.#channel.postMessage(events);
 *     this.#listener?.onEvents(events); // a channel does not deliver a message to its sender
 *   }
 *
 *   async follow(listener: BrokerListener, signal: AbortSignal) {
 *     this.#listener = listener;
 *     this.#channel.onmessage = ({ data }) => listener.onEvents(data);
 *     listener.onReady({ isContiguous: true });
 *     await new Promise((resolve) => signal.addEventListener('abort', resolve));
 *   }
 *
 *   async close() {
 *     this.#channel.close();
 *   }
 * }
 *
 * const bus = brokerBus(new ChannelBroker());
 * ```
 */
export interface Broker {
  /**
   * The log of occurrences of MCP Events that the broker keeps. Without it, occurrences travel with
   * the other events, and are delivered at most once.
   *
   * @internal
   */
  readonly log?: BrokerLog | undefined;
  /**
   * Sends events, each a line of JSON text. Resolves once the broker has all of them, and rejects
   * otherwise. Events that have not been sent when `timeout` aborts (after 5,000 milliseconds) must
   * not be sent any more, because their publish has failed by then.
   */
  publish(events: string, timeout: AbortSignal): Promise<void>;
  /**
   * Passes the events of every process, including this one, to `listener` until the broker is lost
   * (rejects) or `signal` aborts (resolves or rejects). It is called when the bus is first used,
   * and again 100 to 1,000 milliseconds after each loss. A broker that keeps events resumes after
   * the last one that it passed on.
   */
  follow(listener: BrokerListener, signal: AbortSignal): Promise<void>;
  /**
   * Resolves once everything that was published before the call has been passed to the listener, so
   * that a server that closes misses nothing. Without it, events in transit may be missed then.
   */
  settle?(): Promise<void>;
  /**
   * Sends a signal, a text of at most 7,999 bytes, to the other processes, whether or not it
   * arrives. The bus calls it only with the option `wanted`. Without `signal` and `followSignals`
   * signals are published with the events, as lines that begin with `signal:`: right for a broker
   * that keeps nothing.
   */
  signal?(text: string): Promise<void>;
  /**
   * Passes the signals of other processes to `onSignal` until the broker is lost (rejects) or
   * `signal` aborts. Calls `onReady` once it does. It is called again as `follow` is.
   */
  followSignals?(
    onSignal: (text: string) => void,
    onReady: () => void,
    signal: AbortSignal,
  ): Promise<void>;
  /** Closes the connections of the broker; `signal` of `follow` has aborted before. */
  close(): Promise<void>;
}

/** Receives the events of a {@link Broker}. The bus implements it. */
export interface BrokerListener {
  /**
   * Informs the bus that every event published from now on is passed on. Call it once for each call
   * of `follow`. `isContiguous` is true if no event published since the last loss is missing,
   * because the broker kept them. If it is false, every stream is resynced.
   */
  onReady(state: { isContiguous: boolean }): void;
  /** Passes on the events of one publish, as they were sent and in the order of the broker. */
  onEvents(events: string): void;
  /** Reports that events were lost. Every stream is resynced. */
  onGap(): void;
}
