import type { ServerEvent } from 'mcp-listen';

/** A bus as it is written for the official SDK: `publish` calls the listeners. */
export class PlainBus {
  readonly listeners = new Set<(event: ServerEvent) => void>();

  publish(event: ServerEvent): void {
    for (const listener of this.listeners) listener(event);
  }

  subscribe(listener: (event: ServerEvent) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }
}
