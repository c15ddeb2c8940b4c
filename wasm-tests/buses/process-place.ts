import type { ListenBus, ListenHandlerOptions } from 'mcp-listen';
import type { Place } from '../host/bus-list.ts';
import { open, serving } from '../node/serving.ts';

/** A server on a bus, as it stands in a process. */
export function placeOn(bus: ListenBus, options: ListenHandlerOptions = {}): Place {
  const server = serving({ bus, onError: () => {}, timeouts: { attachMs: 1_000 }, ...options });
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
