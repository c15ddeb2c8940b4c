/**
 * A broker whose listeners are all in this process.
 * @param {Set<import('mcp-listen').BrokerListener>} listeners
 * @param {(events: string) => Promise<void>} publish
 * @returns {import('mcp-listen').Broker}
 */
export function hubBroker(listeners, publish) {
  return {
    publish,
    async follow(listener, signal) {
      listeners.add(listener);
      listener.onReady({ isContiguous: true });
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      listeners.delete(listener);
    },
    close: async () => {},
  };
}
