import { InMemoryBus } from './bus.js';
import type { InMemoryBusOptions } from './options.js';

/** The streams of a process on a broker, and the events that they can resume from. */
export class LocalBus extends InMemoryBus {
  readonly #onChange: () => void;

  /** @param onChange - called after a change of what the streams of sessions subscribe to. */
  constructor(onChange: () => void, options: InMemoryBusOptions) {
    super(options);
    this.#onChange = onChange;
  }

  protected override sessionsChanged(): void {
    this.#onChange();
  }

  override get streams(): number {
    return super.streams;
  }

  override deliver(texts: string[]): void {
    super.deliver(texts);
  }

  override gap(): void {
    super.gap();
  }

  override end(): void {
    super.end();
  }
}
