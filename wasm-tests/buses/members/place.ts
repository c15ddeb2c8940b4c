import type { ListenBus, ListenHandlerOptions } from 'mcp-listen';
import type { BusPlace } from '../../../dist/testing/place.js';
import { open, serving } from '../../node/serving.ts';

/** A server on a bus, in this process. */
export function placeOn(bus: ListenBus, options: ListenHandlerOptions = {}): BusPlace {
  const server = serving({ bus, onError: () => {}, timeouts: { attachMs: 5_000 }, ...options });
  return {
    async open(filter) {
      const stream = await open(server, filter);
      if (stream.response.status !== 200) throw new Error(`status ${stream.response.status}`);
      return stream;
    },
    publish: (...events) => bus.publishAll(events),
    stats: async () => server.stats(),
  };
}
