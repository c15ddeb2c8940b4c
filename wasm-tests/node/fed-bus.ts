import { type FanoutSink, InMemoryBus } from 'mcp-listen';
import { vi } from 'vitest';

/** A bus, and what it feeds. */
export function fed(): { bus: InMemoryBus; feeds: FanoutSink[] } {
  const bus = new InMemoryBus();
  const feeds: FanoutSink[] = [];
  const feed = bus.feed.bind(bus);
  vi.spyOn(bus, 'feed').mockImplementation((fed) => {
    feeds.push(fed);
    return feed(fed);
  });
  return { bus, feeds };
}
