/** What carries events from process to process, as a `BrokerBus` drives it. */
export interface Broker {
  /**
   * Hands over events, each a line of JSON text; resolves once the broker has them: all of them, or it rejects. What has not left
   * when `late` aborts must not leave any more.
   */
  publish(events: string, late: AbortSignal): Promise<void>;
  /**
   * Follows what is published, from where it was heard last. Settles when the broker is lost, or `signal` aborts; it is
   * called again then, unless the bus is closed.
   */
  follow(ear: BrokerListener, signal: AbortSignal): Promise<void>;
  /** Resolves when all that was published before the call was heard. Without it, nobody can tell what is on its way. */
  settle?(): Promise<void>;
  /** Lets go of the connections that are its own. */
  close(): Promise<void>;
}

/** Who is told what a broker carries. */
export interface BrokerListener {
  /** Whatever is published from now on is told. `isWhole`: so is everything since the broker was lost. */
  onReady(isWhole: boolean): void;
  /** Events, as they were handed over. */
  onEvents(events: string): void;
  /** Something was lost on the way, and nobody can tell what. */
  onGap(): void;
}
