import { type EventFeed, InMemoryBus } from 'mcp-listen';
import { vi } from 'vitest';

/** A bus, and what it feeds. */
export function fed(): { bus: InMemoryBus; feeds: EventFeed[] } {
  const bus = new InMemoryBus();
  const feeds: EventFeed[] = [];
  const feed = bus.feed.bind(bus);
  vi.spyOn(bus, 'feed').mockImplementation((fed) => {
    feeds.push(fed);
    return feed(fed);
  });
  return { bus, feeds };
}
