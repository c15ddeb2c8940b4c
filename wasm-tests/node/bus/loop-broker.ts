import type { Broker, BrokerListener } from 'mcp-listen';

/** A broker within one process, as a user would write it. */
export class LoopBroker implements Broker {
  listener: BrokerListener | undefined;
  lose: (error: Error) => void = () => {};
  isContiguous = true;

  async publish(events: string): Promise<void> {
    this.listener?.onEvents(events);
  }

  follow(listener: BrokerListener, signal: AbortSignal): Promise<void> {
    this.listener = listener;
    listener.onReady({ isContiguous: this.isContiguous });
    return new Promise((resolve, reject) => {
      this.lose = reject;
      signal.addEventListener('abort', () => resolve());
    });
  }

  async close(): Promise<void> {}
}
