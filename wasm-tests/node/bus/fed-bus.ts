import { InMemoryBus } from 'mcp-listen';
import { vi } from 'vitest';
import type { FanoutSink } from '../../../dist/bus/attachable-bus.js';

/** A bus, and the sinks that it feeds. */
export function fed(): { bus: InMemoryBus; feeds: FanoutSink[] } {
  const bus = new InMemoryBus();
  const feeds: FanoutSink[] = [];
  const feed = bus.subscribeAll.bind(bus);
  vi.spyOn(bus, 'subscribeAll').mockImplementation((sink) => {
    feeds.push(sink);
    return feed(sink);
  });
  return { bus, feeds };
}
