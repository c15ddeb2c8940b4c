/**
 * What carries events from process to process: the part of a bus that differs from broker to broker.
 * `brokerBus` makes a bus of it, calls {@link Broker.follow} again after a loss, and gives what it
 * hears to the streams of this process.
 *
 * @example
 * ```ts
 * class ChannelBroker implements Broker {
 *   #channel = new BroadcastChannel('notebook');
 *   #listener?: BrokerListener;
 *
 *   async publish(events: string) {
 *     this.#channel.postMessage(events);
 *     this.#listener?.onEvents(events); // a channel does not return to its sender what that posted
 *   }
 *
 *   async follow(listener: BrokerListener, signal: AbortSignal) {
 *     this.#listener = listener;
 *     this.#channel.onmessage = ({ data }) => listener.onEvents(data);
 *     listener.onReady(true);
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
   * Sends events, each a line of JSON text. Resolves once the broker has all of them, and rejects
   * otherwise. Events that have not been sent when `late` aborts (after 5,000 milliseconds) must
   * not be sent any more, since the publisher is told that they were not taken.
   */
  publish(events: string, late: AbortSignal): Promise<void>;
  /**
   * Listens to what is published by any process, this one included, and passes it to `listener`
   * until the broker is lost (rejects) or `signal` aborts (resolves or rejects). It is called when
   * the bus is first used, and again 100 to 1,000 milliseconds after each loss. A broker that keeps
   * events goes on after the last one that it passed on.
   */
  follow(listener: BrokerListener, signal: AbortSignal): Promise<void>;
  /**
   * Resolves once everything that was published before the call has been passed to the listener, so
   * that a server that closes misses nothing. Without it, what is on its way may be missed then.
   */
  settle?(): Promise<void>;
  /** Closes the connections that the broker has opened; `signal` of `follow` has aborted before. */
  close(): Promise<void>;
}

/** Receives what a {@link Broker} carries. The bus implements it. */
export interface BrokerListener {
  /**
   * From now on everything that is published is passed on. Call it once for each call of `follow`.
   * `isWhole` is true if nothing that was published since the last loss is missing, because the
   * broker kept it. False makes every stream read again what it subscribes to.
   */
  onReady(isWhole: boolean): void;
  /** Passes on the events of one publish, as they were sent and in the order of the broker. */
  onEvents(events: string): void;
  /** Something was lost on the way. Every stream reads again what it subscribes to. */
  onGap(): void;
}
