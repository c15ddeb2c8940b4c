import { InMemoryBus } from 'mcp-listen';
import { vi } from 'vitest';
import type { FanoutSink } from '../../dist/bus/attachable-bus.js';

/** A bus, and what it feeds. */
export function fed(): { bus: InMemoryBus; feeds: FanoutSink[] } {
  const bus = new InMemoryBus();
  const feeds: FanoutSink[] = [];
  const feed = bus.subscribeAll.bind(bus);
  vi.spyOn(bus, 'subscribeAll').mockImplementation((fed) => {
    feeds.push(fed);
    return feed(fed);
  });
  return { bus, feeds };
}
